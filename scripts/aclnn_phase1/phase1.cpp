// The part of phase1.h that is compiled once, and the program: each test in a process of its own.
//   program LOG PRODUCT
// The log has one event a line, its fields separated by tabs:
//   test NAME · begin CALL FUNCTION PRODUCT · end CALL MADE CODE ARGUMENTS MESSAGE · expect CALL HOW CODE LINE · died
//   SIGNAL

#include "phase1.h"

#include <fcntl.h>

op::PlatformInfo* op::platform =
    new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) op::PlatformInfo;

namespace {

using op::SocVersion;
constexpr pair<SocVersion, NpuArch> kArchs[] = {
    {SocVersion::ASCEND910B, NpuArch::DAV_2201}, {SocVersion::ASCEND910_93, NpuArch::DAV_2201},
    {SocVersion::ASCEND950, NpuArch::DAV_3510},  {SocVersion::ASCEND910, NpuArch::DAV_1001},
    {SocVersion::ASCEND310P, NpuArch::DAV_2002}, {SocVersion::ASCEND310, NpuArch::DAV_2002},
    {SocVersion::ASCEND310B, NpuArch::DAV_3002}, {SocVersion::ASCEND610LITE, NpuArch::DAV_3102}};

int output = -1, calls = 0;
string own_product, arguments_text;

string one_line(string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

template <class... T>
void log(const T&... fields) {
  ostringstream line;
  const char* gap = "";
  ((line << gap << fields, gap = "\t"), ...);
  line << '\n';
  const string text = line.str();
  if (write(output, text.data(), text.size()) != ssize_t(text.size())) _exit(3);
}

const char* product() {
  switch (op::platform->soc) {
    case SocVersion::ASCEND910B: return "Ascend910B";
    case SocVersion::ASCEND910_93: return "Ascend910_93";
    case SocVersion::ASCEND950: return "Ascend950";
    default: return "other";
  }
}

string text_of(const vector<int64_t>& all) {
  string text;
  for (int64_t one : all) text += (text.empty() ? "" : ",") + to_string(one);
  return "[" + text + "]";
}

}  // namespace

void op::SetPlatformSocVersion(SocVersion soc) {
  platform->soc = soc;
  for (const auto& [of, arch] : kArchs)
    if (of == soc) platform->arch = arch;
}

void op::SetPlatformNpuArch(NpuArch arch) {
  platform->arch = arch;
  for (const auto& [soc, of] : kArchs)
    if (of == arch) return void(platform->soc = soc);
}

void phase1::note(const char* text) { arguments_text += (arguments_text.empty() ? "" : " | ") + one_line(text); }
void phase1::begin(const char* function) {
  arguments_text.clear();
  log("begin", ++calls, function, product());
}
bool phase1::is_own_product() { return own_product == product(); }
phase1::Status phase1::end(bool made, int code) {
  const char* said = made && code > 0 ? aclGetRecentErrMsg() : nullptr;
  log("end", calls, int(made), code, arguments_text, one_line(said ? said : ""));
  return {code, calls};
}
void phase1::expect(int call, const char* how, int code, int line) {
  if (call) log("expect", call, how, code, line);
}
int phase1::last_call() { return calls; }

aclTensor* TensorDesc::ToAclTypeRawPtr() const {
  phase1::note(("dtype" + to_string(dtype) + text_of(sizes) +
                (format == ACL_FORMAT_ND ? "" : " format" + to_string(format)) +
                (strides.empty() ? "" : " strides" + text_of(strides)))
                   .c_str());
  const auto& whole = storage.empty() ? sizes : storage;
  return aclCreateTensor(sizes.data(), sizes.size(), dtype, strides.empty() ? nullptr : strides.data(), offset, format,
                         whole.data(), whole.size(), nullptr);
}

aclTensorList* TensorListDesc::ToAclTypeRawPtr() const {
  vector<const aclTensor*> tensors;
  for (const TensorDesc& one : all) tensors.push_back(one.ToAclTypeRawPtr());
  phase1::note("(list)");
  return aclCreateTensorList(tensors.data(), tensors.size());
}

ScalarDesc::ScalarDesc(float v, aclDataType type) : dtype(type) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  switch (type) {
    case ACL_FLOAT16: set(aclFloatToFloat16(v)); break;
    case ACL_BF16: set(uint16_t(bits >> 16)); break;
    case ACL_BOOL: set(v != 0); break;
    case ACL_DOUBLE: set(double(v)); break;
    case ACL_INT64:
    case ACL_UINT64: set(int64_t(v)); break;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_INT32:
    case ACL_UINT32: set(int32_t(v)); break;
    default: set(v);
  }
}

aclScalar* ScalarDesc::ToAclTypeRawPtr() const {
  phase1::note(("scalar dtype" + to_string(dtype)).c_str());
  return aclCreateScalar(const_cast<char*>(bytes), dtype);
}
aclIntArray* IntArrayDesc::ToAclTypeRawPtr() const {
  phase1::note(("ints" + text_of(all)).c_str());
  return aclCreateIntArray(all.data(), all.size());
}
aclFloatArray* FloatArrayDesc::ToAclTypeRawPtr() const {
  phase1::note(("floats of " + to_string(all.size())).c_str());
  return aclCreateFloatArray(all.data(), all.size());
}
aclBoolArray* BoolArrayDesc::ToAclTypeRawPtr() const {
  phase1::note(("bools" + text_of({all.begin(), all.end()})).c_str());
  const unique_ptr<bool[]> copy(new bool[all.size()]);
  std::copy(all.begin(), all.end(), copy.get());
  return aclCreateBoolArray(copy.get(), all.size());
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  output = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  own_product = argv[2];
  if (output < 0 || aclInit(nullptr) != ACL_SUCCESS) return 2;
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, 1);
  dup2(nowhere, 2);
  auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s)
    for (int t = 0; t < all.GetTestSuite(s)->total_test_count(); ++t) {
      const string name = string(all.GetTestSuite(s)->name()) + "." + all.GetTestSuite(s)->GetTestInfo(t)->name();
      const op::PlatformInfo before = *op::platform;
      log("test", name);
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        ::testing::GTEST_FLAG(filter) = name;
        (void)RUN_ALL_TESTS();
        _exit(0);
      }
      int how = 0;
      waitpid(child, &how, 0);
      if (!WIFEXITED(how) || WEXITSTATUS(how)) {
        log("died", WIFSIGNALED(how) ? WTERMSIG(how) : -WEXITSTATUS(how));
        *op::platform = before;
      }
    }
  _exit(0);
}
