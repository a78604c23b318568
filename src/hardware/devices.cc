// The table of devices.
#include <cstdint>

#include "src/hardware/device.h"

namespace onnxflops {
namespace {

// ---- Sources

constexpr char kGuide[] = "ml-engineering (S. Bekman), compute/accelerator, 2026-08";
constexpr char kTorch[] = "PyTorch 2.15 torch/_inductor/analysis/device_info.py";
constexpr char kAda[] = "NVIDIA Ada GPU architecture whitepaper";
constexpr char kAmpere[] = "NVIDIA RTX A6000 and A40 datasheets";
constexpr char kBlackwellRtx[] = "NVIDIA RTX Blackwell GPU architecture whitepaper";
constexpr char kRtxPro[] = "NVIDIA RTX Blackwell PRO GPU architecture v1.1, table 4";
constexpr char kHgx[] = "NVIDIA HGX page, per GPU";
constexpr char kTpu[] = "Google Cloud TPU documentation";
constexpr char kPalm[] = "PaLM, arXiv 2204.02311, table 3";
constexpr char kNeuron[] = "AWS Neuron documentation";
constexpr char kGaudi[] = "Intel, Hot Chips 2024, Gaudi 3 at 1750 MHz";
constexpr char kDeepSeek[] = "DeepSeek-V3, torchtitan";
constexpr char kComposer[] = "MosaicML Composer: 1979 / 2";
constexpr char kA100Sheet[] = "NVIDIA A100 datasheet (2021)";
constexpr char kHopperFp64[] = "528 tensor cores x 64 x 1.98 GHz";
constexpr char kV100Tensor[] =
    "NVIDIA blog, Programming Tensor Cores in CUDA 9; 640 tensor cores x 128 x 1.53 GHz";
constexpr char kV100Cores[] = "5120 cores (fp64: 2560) x 2 x 1.53 GHz";
constexpr char kV100Memory[] = "4096 bits x 1.76 Gb/s, of HBM2";
constexpr char kT4Tensor[] = "heise online, 2018-09-13; 320 tensor cores x 128 x 1.59 GHz";
constexpr char kL4Tensor[] =
    "half of NVIDIA's figures with sparsity, 242 and 485, as in PyTorch 2.15 device_info.py";
constexpr char kL4Cores[] = "7424 cores x 2 x 2.04 GHz";
constexpr char kL4Memory[] = "192 bits x 12.5 Gb/s, of GDDR6";
constexpr char kL40Sheet[] = "NVIDIA L40 datasheet, as resellers print it";
constexpr char kA40Memory[] = "384 bits x 14.5 Gb/s, of GDDR6";
constexpr char kA6000Memory[] = "384 bits x 16 Gb/s, of GDDR6";
constexpr char kGh200Memory[] =
    "a report of NVIDIA's announcement of 2023-08-08: 96 GB of HBM3 at 4 TB/s";
constexpr char kMi200[] = "AMD, Instinct MI200 series (2021)";
constexpr char kMi200Vector[] = "AMD, Instinct MI200 series (2021), vector units";
constexpr char kMi355Clock[] = "256 CUs x 4096 x 2.4 GHz";
constexpr char kGaudi2[] = "Intel, Vision 2024, beside Gaudi 3; clock x units";
constexpr char kGaudiPress[] = "press, 2024-10";
constexpr char kNeuronOld[] = "AWS Neuron documentation 2.9";

// ---- Rows

struct FlopPeakRow {
  Precision precision;
  int64_t giga;
  const char* source;
  const char* accumulate = "";
};

struct DeviceRow {
  const char* name;
  const char* title;
  const char* unit;
  absl::Span<const char* const> aliases;
  absl::Span<const FlopPeakRow> peaks;
  int64_t memory_bytes = 0;      // 0: blank
  int64_t bytes_per_second = 0;  // 0: blank
  const char* memory_source = "";
  int64_t achievable_giga = 0;  // 0: blank
  const char* note = "";
};

constexpr int64_t kGb = 1'000'000'000;
constexpr int64_t kGib = int64_t{1} << 30;
using P = Precision;

constexpr FlopPeakRow kV100[] = {{P::kFp64, 7'800, kV100Cores},
                                 {P::kFp32, 15'700, kV100Cores},
                                 {P::kFp16, 125'000, kV100Tensor}};
constexpr const char* kV100Names[] = {"v100", "Tesla V100-SXM2-32GB"};
constexpr const char* kV100Names16[] = {"Tesla V100-SXM2-16GB"};
constexpr FlopPeakRow kT4[] = {{P::kFp32, 8'100, kT4Tensor},
                               {P::kFp16, 65'000, kT4Tensor},
                               {P::kInt8, 130'000, kT4Tensor},
                               {P::kInt4, 260'000, kT4Tensor}};
constexpr const char* kT4Names[] = {"Tesla T4", "NVIDIA T4"};

constexpr FlopPeakRow kA100[] = {{P::kFp64, 19'500, kA100Sheet},   {P::kFp32, 19'500, kA100Sheet},
                                 {P::kTf32, 156'000, kA100Sheet},  {P::kBf16, 312'000, kA100Sheet},
                                 {P::kFp16, 312'000, kA100Sheet},  {P::kInt8, 624'000, kA100Sheet},
                                 {P::kInt4, 1'248'000, kA100Sheet}};
constexpr const char* kA100Sxm80[] = {"a100", "a100-80gb", "NVIDIA A100-SXM4-80GB"};
constexpr const char* kA100Sxm40[] = {"a100-40gb", "NVIDIA A100-SXM4-40GB",
                                      "NVIDIA A100-PCIE-40GB"};
constexpr const char* kA100Pcie80[] = {"NVIDIA A100 80GB PCIe"};

constexpr FlopPeakRow kA10[] = {{P::kFp32, 31'200, kGuide},
                                {P::kTf32, 62'500, kGuide},
                                {P::kBf16, 125'000, kGuide},
                                {P::kFp16, 125'000, kGuide}};
constexpr const char* kA10Names[] = {"NVIDIA A10"};
constexpr FlopPeakRow kA40[] = {{P::kFp32, 37'400, kAmpere},
                                {P::kTf32, 74'800, kAmpere},
                                {P::kBf16, 149'700, kAmpere},
                                {P::kFp16, 149'700, kAmpere},
                                {P::kInt8, 299'000, kAmpere}};
constexpr const char* kA40Names[] = {"NVIDIA A40"};
constexpr FlopPeakRow kA6000[] = {{P::kFp32, 38'700, kAmpere},
                                  {P::kTf32, 77'400, kAmpere},
                                  {P::kBf16, 154'800, kAmpere},
                                  {P::kFp16, 154'800, kAmpere},
                                  {P::kInt8, 310'000, kAmpere}};
constexpr const char* kA6000Names[] = {"NVIDIA RTX A6000"};

constexpr FlopPeakRow kL4[] = {{P::kFp32, 30'300, kL4Cores},   {P::kTf32, 60'000, kL4Tensor},
                               {P::kBf16, 121'000, kL4Tensor}, {P::kFp16, 121'000, kL4Tensor},
                               {P::kFp8, 242'500, kL4Tensor},  {P::kInt8, 242'500, kL4Tensor}};
constexpr const char* kL4Names[] = {"NVIDIA L4"};
constexpr FlopPeakRow kL40[] = {{P::kFp32, 90'500, kL40Sheet},  {P::kTf32, 90'500, kL40Sheet},
                                {P::kBf16, 181'050, kL40Sheet}, {P::kFp16, 181'050, kL40Sheet},
                                {P::kFp8, 362'000, kL40Sheet},  {P::kInt8, 362'000, kL40Sheet},
                                {P::kInt4, 724'000, kL40Sheet}};
constexpr const char* kL40Names[] = {"NVIDIA L40"};
constexpr FlopPeakRow kL40S[] = {{P::kFp32, 91'600, kGuide},  {P::kTf32, 183'000, kGuide},
                                 {P::kBf16, 362'000, kGuide}, {P::kFp16, 362'000, kGuide},
                                 {P::kFp8, 733'000, kGuide},  {P::kInt8, 733'000, kGuide}};
constexpr const char* kL40SNames[] = {"NVIDIA L40S"};
constexpr FlopPeakRow kRtx4090[] = {{P::kFp32, 82'600, kAda},         {P::kTf32, 82'600, kAda},
                                    {P::kBf16, 165'200, kAda},        {P::kFp16, 165'200, kAda},
                                    {P::kFp8, 330'300, kAda},         {P::kInt8, 661'000, kAda},
                                    {P::kFp16, 330'300, kAda, "fp16"}};
constexpr const char* kRtx4090Names[] = {"4090", "NVIDIA GeForce RTX 4090"};
constexpr FlopPeakRow kRtx6000Ada[] = {{P::kFp32, 91'100, kAda},
                                       {P::kBf16, 364'250, kAda},
                                       {P::kFp16, 364'250, kAda},
                                       {P::kFp8, 728'000, kAda},
                                       {P::kInt8, 728'000, kAda}};
constexpr const char* kRtx6000AdaNames[] = {"NVIDIA RTX 6000 Ada Generation"};
constexpr FlopPeakRow kRtx5090[] = {
    {P::kFp32, 104'800, kBlackwellRtx},       {P::kTf32, 104'800, kBlackwellRtx},
    {P::kBf16, 209'500, kBlackwellRtx},       {P::kFp16, 209'500, kBlackwellRtx},
    {P::kFp8, 419'000, kBlackwellRtx},        {P::kFp4, 1'676'000, kBlackwellRtx},
    {P::kInt8, 838'000, kBlackwellRtx},       {P::kFp16, 419'000, kBlackwellRtx, "fp16"},
    {P::kFp8, 838'000, kBlackwellRtx, "fp16"}};
constexpr const char* kRtx5090Names[] = {"5090", "NVIDIA GeForce RTX 5090"};
constexpr FlopPeakRow kRtxPro6000[] = {
    {P::kFp32, 125'000, kRtxPro}, {P::kBf16, 503'800, kRtxPro}, {P::kFp16, 503'800, kRtxPro}};
constexpr const char* kRtxPro6000Names[] = {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition"};

constexpr FlopPeakRow kH100Sxm[] = {{P::kFp64, 67'000, kHopperFp64}, {P::kFp32, 67'000, kGuide},
                                    {P::kTf32, 494'500, kGuide},     {P::kBf16, 989'400, kGuide},
                                    {P::kFp16, 989'400, kGuide},     {P::kFp8, 1'979'000, kGuide},
                                    {P::kInt8, 1'979'000, kGuide},   {P::kBf16, 989'000, kDeepSeek},
                                    {P::kBf16, 989'500, kComposer}};
constexpr const char* kH100SxmNames[] = {"h100", "NVIDIA H100 80GB HBM3"};
constexpr const char* kH200Names[] = {"h200-sxm", "NVIDIA H200"};
constexpr const char* kH800Names[] = {"h800", "NVIDIA H800"};
constexpr const char* kGh200Names[] = {"NVIDIA GH200 480GB"};
constexpr FlopPeakRow kH100Pcie[] = {{P::kFp32, 51'000, kGuide},   {P::kTf32, 378'000, kGuide},
                                     {P::kBf16, 756'000, kGuide},  {P::kFp16, 756'000, kGuide},
                                     {P::kFp8, 1'513'000, kGuide}, {P::kInt8, 1'513'000, kGuide}};
constexpr const char* kH100PcieNames[] = {"NVIDIA H100 PCIe"};
constexpr FlopPeakRow kH20[] = {{P::kFp32, 44'000, kGuide},  {P::kTf32, 74'000, kGuide},
                                {P::kBf16, 148'000, kGuide}, {P::kFp16, 148'000, kGuide},
                                {P::kFp8, 296'000, kGuide},  {P::kInt8, 296'000, kGuide}};
constexpr const char* kH20Names[] = {"NVIDIA H20"};
constexpr FlopPeakRow kB200[] = {
    {P::kFp32, 75'000, kHgx},    {P::kTf32, 1'100'000, kHgx}, {P::kBf16, 2'250'000, kHgx},
    {P::kFp16, 2'250'000, kHgx}, {P::kFp8, 4'500'000, kHgx},  {P::kFp4, 9'000'000, kHgx},
    {P::kInt8, 4'500'000, kHgx}, {P::kFp32, 80'000, kGuide},  {P::kTf32, 1'125'000, kGuide}};
constexpr const char* kB200Names[] = {"NVIDIA B200"};
constexpr FlopPeakRow kGb200[] = {{P::kFp32, 80'000, kGuide},    {P::kTf32, 1'250'000, kGuide},
                                  {P::kBf16, 2'500'000, kGuide}, {P::kFp16, 2'500'000, kGuide},
                                  {P::kFp8, 5'000'000, kGuide},  {P::kFp4, 10'000'000, kGuide},
                                  {P::kInt8, 5'000'000, kGuide}};
constexpr const char* kGb200Names[] = {"NVIDIA GB200"};
constexpr FlopPeakRow kB300[] = {{P::kFp32, 75'000, kHgx},     {P::kTf32, 1'125'000, kHgx},
                                 {P::kBf16, 2'250'000, kHgx},  {P::kFp16, 2'250'000, kHgx},
                                 {P::kFp8, 4'500'000, kHgx},   {P::kInt8, 150'000, kHgx},
                                 {P::kInt8, 4'500'000, kGuide}};
constexpr const char* kB300Names[] = {"NVIDIA B300"};
constexpr FlopPeakRow kGb300[] = {{P::kFp32, 80'000, kTorch},    {P::kTf32, 1'250'000, kTorch},
                                  {P::kBf16, 2'500'000, kTorch}, {P::kFp16, 2'500'000, kTorch},
                                  {P::kFp8, 5'000'000, kTorch},  {P::kInt8, 165'000, kTorch}};
constexpr const char* kGb300Names[] = {"NVIDIA GB300"};

constexpr FlopPeakRow kMi250x[] = {
    {P::kFp64, 95'700, kMi200},       {P::kFp32, 95'700, kMi200},      {P::kBf16, 383'000, kMi200},
    {P::kFp16, 383'000, kMi200},      {P::kInt8, 383'000, kMi200},     {P::kInt4, 383'000, kMi200},
    {P::kFp64, 47'900, kMi200Vector}, {P::kFp32, 47'900, kMi200Vector}};
constexpr FlopPeakRow kMi250xGcd[] = {{P::kFp64, 47'850, kMi200},  {P::kFp32, 47'850, kMi200},
                                      {P::kBf16, 191'500, kMi200}, {P::kFp16, 191'500, kMi200},
                                      {P::kInt8, 191'500, kMi200}, {P::kInt4, 191'500, kMi200}};
constexpr FlopPeakRow kMi250[] = {{P::kFp64, 90'500, kMi200},  {P::kFp32, 90'500, kMi200},
                                  {P::kBf16, 362'100, kMi200}, {P::kFp16, 362'100, kMi200},
                                  {P::kInt8, 362'100, kMi200}, {P::kInt4, 362'100, kMi200}};
constexpr FlopPeakRow kMi250Gcd[] = {{P::kFp64, 45'250, kMi200},  {P::kFp32, 45'250, kMi200},
                                     {P::kBf16, 181'050, kMi200}, {P::kFp16, 181'050, kMi200},
                                     {P::kInt8, 181'050, kMi200}, {P::kInt4, 181'050, kMi200}};
constexpr const char* kMi250GcdNames[] = {"AMD Instinct MI250"};
constexpr const char* kMi250xGcdNames[] = {"AMD Instinct MI250X"};
constexpr FlopPeakRow kMi300a[] = {{P::kFp32, 122'600, kTorch},  {P::kTf32, 490'000, kTorch},
                                   {P::kBf16, 980'600, kTorch},  {P::kFp16, 980'600, kTorch},
                                   {P::kFp8, 1'961'000, kTorch}, {P::kInt8, 1'961'000, kTorch}};
constexpr const char* kMi300aNames[] = {"AMD Instinct MI300A"};
constexpr FlopPeakRow kMi300x[] = {{P::kFp32, 163'400, kTorch},   {P::kTf32, 653'700, kTorch},
                                   {P::kBf16, 1'307'400, kTorch}, {P::kFp16, 1'307'400, kTorch},
                                   {P::kFp8, 2'614'900, kTorch},  {P::kInt8, 2'614'900, kTorch},
                                   {P::kBf16, 1'300'000, kGuide}};
constexpr const char* kMi300xNames[] = {"AMD Instinct MI300X"};
constexpr const char* kMi325xNames[] = {"AMD Instinct MI325X"};
constexpr FlopPeakRow kMi350x[] = {{P::kFp32, 144'200, kTorch},   {P::kBf16, 2'309'600, kTorch},
                                   {P::kFp16, 2'309'600, kTorch}, {P::kFp8, 4'614'000, kTorch},
                                   {P::kFp4, 9'200'000, kTorch},  {P::kInt8, 4'614'000, kTorch}};
constexpr const char* kMi350xNames[] = {"AMD Instinct MI350X"};
constexpr FlopPeakRow kMi355x[] = {{P::kBf16, 2'500'000, kGuide},
                                   {P::kFp16, 2'500'000, kGuide},
                                   {P::kBf16, 2'516'600, kMi355Clock}};
constexpr const char* kMi355xNames[] = {"AMD Instinct MI355X"};

constexpr FlopPeakRow kTpuV3[] = {{P::kBf16, 123'000, kTpu}};
constexpr FlopPeakRow kTpuV4[] = {{P::kBf16, 275'000, kTpu}, {P::kBf16, 275'000, kPalm}};
constexpr FlopPeakRow kTpuV5e[] = {{P::kBf16, 197'000, kTpu}, {P::kInt8, 393'000, kTpu}};
constexpr FlopPeakRow kTpuV5p[] = {
    {P::kBf16, 459'000, kTpu}, {P::kFp8, 459'000, kTpu}, {P::kInt8, 918'000, kTpu}};
constexpr FlopPeakRow kTpuV6e[] = {
    {P::kBf16, 918'000, kTpu}, {P::kFp8, 918'000, kTpu}, {P::kInt8, 1'836'000, kTpu}};
constexpr FlopPeakRow kTpuV7x[] = {{P::kBf16, 2'307'000, kTpu}, {P::kFp8, 4'614'000, kTpu}};
constexpr const char* kTpuV6eNames[] = {"trillium"};
constexpr const char* kTpuV7xNames[] = {"ironwood", "tpu-v7"};

constexpr FlopPeakRow kGaudi2Peaks[] = {{P::kBf16, 432'000, kGaudi2}, {P::kFp8, 865'000, kGaudi2}};
constexpr FlopPeakRow kGaudi3[] = {{P::kBf16, 1'835'000, kGaudi},
                                   {P::kFp16, 1'835'000, kGaudi},
                                   {P::kFp8, 1'835'000, kGaudi},
                                   {P::kBf16, 1'677'000, kGuide},
                                   {P::kBf16, 1'856'000, kGaudiPress}};
constexpr FlopPeakRow kTrn1[] = {{P::kFp32, 47'500, kNeuron},    {P::kTf32, 190'000, kNeuron},
                                 {P::kBf16, 190'000, kNeuron},   {P::kFp16, 190'000, kNeuron},
                                 {P::kFp8, 190'000, kNeuron},    {P::kInt8, 380'000, kNeuron},
                                 {P::kInt8, 420'000, kNeuronOld}};
constexpr FlopPeakRow kTrn2[] = {{P::kFp32, 181'000, kNeuron},
                                 {P::kTf32, 667'000, kNeuron},
                                 {P::kBf16, 667'000, kNeuron},
                                 {P::kFp16, 667'000, kNeuron},
                                 {P::kFp8, 1'299'000, kNeuron}};
constexpr FlopPeakRow kTrn3[] = {{P::kFp32, 183'000, kNeuron},  {P::kTf32, 671'000, kNeuron},
                                 {P::kBf16, 671'000, kNeuron},  {P::kFp16, 671'000, kNeuron},
                                 {P::kFp8, 2'517'000, kNeuron}, {P::kFp4, 2'517'000, kNeuron}};
constexpr const char* kTrn1Names[] = {"trn1"};
constexpr const char* kTrn2Names[] = {"trn2"};
constexpr const char* kTrn3Names[] = {"trn3"};

constexpr char kGpu[] = "GPU";
constexpr char kChip[] = "chip";
// Not here, for want of a second source: H100 NVL and H200 NVL, V100 PCIe and V100S, A10G (70 or
// 125), RTX PRO 6000 Max-Q, TPU v2, MI210, Ascend 950DT (486 or 432); and what is announced only:
// Rubin, MI455X.
constexpr DeviceRow kDevices[] = {
    {"v100-sxm2", "NVIDIA V100 SXM2 32 GB", kGpu, kV100Names, kV100, 32 * kGb, 900 * kGb,
     kV100Memory},
    {"v100-sxm2-16gb", "NVIDIA V100 SXM2 16 GB", kGpu, kV100Names16, kV100, 16 * kGb, 900 * kGb,
     kV100Memory},
    {"t4", "NVIDIA T4", kGpu, kT4Names, kT4, 16 * kGb, 320 * kGb, kT4Tensor, 0,
     "Some documents say 300 GB/s."},
    {"a100-sxm", "NVIDIA A100 SXM 80 GB", kGpu, kA100Sxm80, kA100, 80 * kGb, 2039 * kGb, kA100Sheet,
     271'200},
    {"a100-sxm-40gb", "NVIDIA A100 40 GB", kGpu, kA100Sxm40, kA100, 40 * kGb, 1555 * kGb,
     kA100Sheet, 271'200},
    {"a100-pcie", "NVIDIA A100 PCIe 80 GB", kGpu, kA100Pcie80, kA100, 80 * kGb, 1935 * kGb,
     kA100Sheet},
    {"a10", "NVIDIA A10", kGpu, kA10Names, kA10, 24 * kGb, 600 * kGb, kGuide, 0,
     "The A10G of AWS is another chip, without a published peak."},
    {"a40", "NVIDIA A40", kGpu, kA40Names, kA40, 48 * kGb, 696 * kGb, kA40Memory},
    {"a6000", "NVIDIA RTX A6000", kGpu, kA6000Names, kA6000, 48 * kGb, 768 * kGb, kA6000Memory},
    {"l4", "NVIDIA L4", kGpu, kL4Names, kL4, 24 * kGb, 300 * kGb, kL4Memory},
    {"l40", "NVIDIA L40", kGpu, kL40Names, kL40, 48 * kGb, 864 * kGb, kL40Sheet},
    {"l40s", "NVIDIA L40S", kGpu, kL40SNames, kL40S, 48 * kGb, 864 * kGb, kGuide},
    {"rtx-4090", "NVIDIA GeForce RTX 4090", kGpu, kRtx4090Names, kRtx4090, 24 * kGb, 1008 * kGb,
     kAda},
    {"rtx-6000-ada", "NVIDIA RTX 6000 Ada", kGpu, kRtx6000AdaNames, kRtx6000Ada, 48 * kGb,
     960 * kGb, kAda},
    {"rtx-5090", "NVIDIA GeForce RTX 5090", kGpu, kRtx5090Names, kRtx5090, 32 * kGb, 1792 * kGb,
     kBlackwellRtx},
    {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Workstation", kGpu, kRtxPro6000Names,
     kRtxPro6000, 96 * kGb, 1792 * kGb, kRtxPro},
    {"h100-sxm", "NVIDIA H100 SXM", kGpu, kH100SxmNames, kH100Sxm, 80 * kGb, 3350 * kGb, kGuide,
     794'500},
    {"h100-pcie", "NVIDIA H100 PCIe", kGpu, kH100PcieNames, kH100Pcie, 80 * kGb, 2000 * kGb,
     kGuide},
    {"h200", "NVIDIA H200 SXM", kGpu, kH200Names, kH100Sxm, 141 * kGb, 4800 * kGb, kGuide},
    {"h800-sxm", "NVIDIA H800 SXM", kGpu, kH800Names, kH100Sxm, 80 * kGb, 3350 * kGb, kGuide},
    {"gh200", "NVIDIA GH200", kGpu, kGh200Names, kH100Sxm, 96 * kGb, 4000 * kGb, kGh200Memory, 0,
     "With HBM3e it has 141 or 144 GB, at 4.9 or 5 TB/s: documents differ."},
    {"h20", "NVIDIA H20", kGpu, kH20Names, kH20, 96 * kGb, 4000 * kGb, kGuide},
    {"b200", "NVIDIA B200", kGpu, kB200Names, kB200, 180 * kGb, 7700 * kGb, kHgx, 1'745'000},
    {"gb200", "NVIDIA GB200", "one GPU of two", kGb200Names, kGb200, 186 * kGb, 8000 * kGb, kGuide,
     1'822'000},
    {"b300", "NVIDIA B300", kGpu, kB300Names, kB300, 288 * kGb, 8000 * kGb, kHgx, 0,
     "Dense fp4 is blank: 13.125 PFLOP/s (HGX datasheet), 14 (HGX page), 15 (Hot Chips 2025)."},
    {"gb300", "NVIDIA GB300", "one GPU of two", kGb300Names, kGb300, 288 * kGb, 8000 * kGb, kTorch},
    {"mi250x",
     "AMD Instinct MI250X",
     "module of two GCDs",
     {},
     kMi250x,
     128 * kGb,
     3200 * kGb,
     kMi200,
     0,
     "Frameworks see its halves: mi250x-gcd."},
    {"mi250x-gcd", "AMD Instinct MI250X, one GCD", "GCD, half of a module", kMi250xGcdNames,
     kMi250xGcd, 64 * kGb, 1600 * kGb, kMi200},
    {"mi250",
     "AMD Instinct MI250",
     "module of two GCDs",
     {},
     kMi250,
     128 * kGb,
     3200 * kGb,
     kMi200,
     0,
     "Frameworks see its halves: mi250-gcd."},
    {"mi250-gcd", "AMD Instinct MI250, one GCD", "GCD, half of a module", kMi250GcdNames, kMi250Gcd,
     64 * kGb, 1600 * kGb, kMi200},
    {"mi300a", "AMD Instinct MI300A", "APU", kMi300aNames, kMi300a, 128 * kGb, 5300 * kGb, kTorch},
    {"mi300x", "AMD Instinct MI300X", kGpu, kMi300xNames, kMi300x, 192 * kGb, 5300 * kGb, kGuide,
     668'400},
    {"mi325x", "AMD Instinct MI325X", kGpu, kMi325xNames, kMi300x, 256 * kGb, 6000 * kGb, kGuide,
     784'900},
    {"mi350x", "AMD Instinct MI350X", kGpu, kMi350xNames, kMi350x, 288 * kGb, 8000 * kGb, kTorch},
    {"mi355x", "AMD Instinct MI355X", kGpu, kMi355xNames, kMi355x, 288 * kGb, 8000 * kGb, kGuide,
     1'565'000},
    {"tpu-v3", "Google TPU v3", kChip, {}, kTpuV3, 32 * kGib, 900 * kGb, kTpu},
    {"tpu-v4", "Google TPU v4", kChip, {}, kTpuV4, 32 * kGib, 1200 * kGb, kTpu},
    {"tpu-v5e",
     "Google TPU v5e",
     kChip,
     {},
     kTpuV5e,
     16 * kGb,
     819 * kGb,
     kTpu,
     0,
     "Another version of the page says 800 GiB/s."},
    {"tpu-v5p", "Google TPU v5p", kChip, {}, kTpuV5p, 95 * kGib, 2765 * kGb, kTpu},
    {"tpu-v6e", "Google TPU v6e (Trillium)", kChip, kTpuV6eNames, kTpuV6e, 32 * kGib, 1638 * kGb,
     kTpu},
    {"tpu-v7x", "Google TPU v7x (Ironwood)", kChip, kTpuV7xNames, kTpuV7x, 192 * kGib, 7380 * kGb,
     kTpu, 0, "A chip has two chiplets, and a framework may see two devices."},
    {"gaudi2",
     "Intel Gaudi 2",
     "accelerator",
     {},
     kGaudi2Peaks,
     96 * kGb,
     2460 * kGb,
     kGaudi2,
     418'700,
     "Other documents say 2.45 TB/s."},
    {"gaudi3",
     "Intel Gaudi 3",
     "accelerator",
     {},
     kGaudi3,
     128 * kGb,
     3670 * kGb,
     kGaudi,
     1'243'000},
    {"trainium1", "AWS Trainium 1", "chip of two NeuronCores", kTrn1Names, kTrn1, 32 * kGib,
     820 * kGib, kNeuron},
    {"trainium2", "AWS Trainium 2", "chip of eight NeuronCores", kTrn2Names, kTrn2, 96 * kGib,
     2900 * kGb, kNeuron},
    {"trainium3", "AWS Trainium 3", "chip of eight NeuronCores", kTrn3Names, kTrn3, 144 * kGib,
     4900 * kGb, kNeuron},
    {"apple-m",
     "Apple M-series GPU",
     kGpu,
     {},
     {},
     0,
     0,
     "",
     0,
     "Apple publishes no peak; --peak takes yours."},
};

// ---- Caches: the largest one in front of the memory; what has no source is not there

struct CacheRow {
  absl::string_view device;
  int64_t bytes;
  const char* source;
};
constexpr int64_t kKib = 1024;
constexpr char kCdna3[] = "AMD CDNA 3 architecture whitepaper, Infinity Cache";
constexpr char kHopper[] = "NVIDIA H100 Tensor Core GPU architecture whitepaper";
constexpr char kAmpere100[] = "NVIDIA A100 Tensor Core GPU architecture whitepaper";
constexpr char kGa102[] = "NVIDIA Ampere GA102 GPU architecture whitepaper";
constexpr CacheRow kCaches[] = {
    {"v100-sxm2", 6144 * kKib, "NVIDIA Tesla V100 GPU architecture whitepaper"},
    {"v100-sxm2-16gb", 6144 * kKib, "NVIDIA Tesla V100 GPU architecture whitepaper"},
    {"t4", 4096 * kKib, "NVIDIA Turing GPU architecture whitepaper"},
    {"a100-sxm", 40960 * kKib, kAmpere100},
    {"a100-sxm-40gb", 40960 * kKib, kAmpere100},
    {"a100-pcie", 40960 * kKib, kAmpere100},
    {"a40", 6144 * kKib, kGa102},
    {"a6000", 6144 * kKib, kGa102},
    {"rtx-4090", 73728 * kKib, kAda},
    {"rtx-6000-ada", 98304 * kKib, kAda},
    {"rtx-5090", 98304 * kKib, kBlackwellRtx},
    {"h100-sxm", 51200 * kKib, kHopper},
    {"h100-pcie", 51200 * kKib, kHopper},
    {"mi300x", 262144 * kKib, kCdna3},
    {"mi300a", 262144 * kKib, kCdna3},
};

Device MakeDevice(const DeviceRow& row) {
  Device device;
  device.name = row.name;
  device.title = row.title;
  device.unit = row.unit;
  device.aliases.assign(row.aliases.begin(), row.aliases.end());
  for (const FlopPeakRow& peak : row.peaks) {
    device.peaks.push_back({peak.precision, peak.giga, peak.accumulate, peak.source});
  }
  if (row.memory_bytes != 0) device.memory_bytes = row.memory_bytes;
  if (row.bytes_per_second != 0) device.bytes_per_second = row.bytes_per_second;
  device.memory_source = row.memory_source;
  for (const CacheRow& cache : kCaches) {
    if (cache.device != device.name) continue;
    device.cache_bytes = cache.bytes;
    device.cache_source = cache.source;
  }
  if (row.achievable_giga != 0) {
    device.achievable_giga = row.achievable_giga;
    device.achievable_source = kGuide;
  }
  device.note = row.note;
  return device;
}

}  // namespace

const std::vector<Device>& AllDevices() {
  static const auto* const devices = [] {
    auto* made = new std::vector<Device>;
    for (const DeviceRow& row : kDevices) made->push_back(MakeDevice(row));
    return made;
  }();
  return *devices;
}

}  // namespace onnxflops
