package config

import (
	"slices"
	"strings"
)

// protectedVariable reports variables that a project's env may never set: they control lathe itself, or
// decide which code programs load, which programs they start and where they connect to.
func protectedVariable(name string) bool {
	upper := strings.ToUpper(name)
	if SecretName(upper) {
		return true
	}
	return slices.ContainsFunc(loaderVariables, func(row loaderRow) bool { return row.covers(upper) })
}

// loaderRow is a family of variables, in capitals: NAME, PREFIX_* or *_SUFFIX, separated by blanks.
type loaderRow struct{ source, names string }

func (r loaderRow) covers(name string) bool {
	for pattern := range strings.FieldsSeq(r.names) {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		suffix, isSuffix := strings.CutPrefix(pattern, "*")
		switch {
		case isPrefix && strings.HasPrefix(name, prefix), isSuffix && strings.HasSuffix(name, suffix), name == pattern:
			return true
		}
	}
	return false
}

// loaderVariables lists each family with the page that describes it.
var loaderVariables = []loaderRow{
	{"lathe and model providers", "LATHE_* CLAUDE_* ANTHROPIC_* OPENAI_* AWS_* GOOGLE_* AZURE_* *_BASE_URL *_API_BASE " +
		"*_API_URL *_ENDPOINT *_PROXY *_MODEL"},
	{"environ(7)", "PATH HOME SHELL USER LOGNAME TMPDIR TEMP TMP EDITOR VISUAL BROWSER *PAGER"},
	{"XDG base directories, OpenTelemetry", "XDG_* OTEL_*"},
	{"Windows", "PATHEXT COMSPEC USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT WINDIR PSMODULEPATH"},

	// Loaders of the system.
	{
		"ld.so(8), with what glibc ignores in programs with more rights than their user (sysdeps/generic/unsecvars.h)",
		"LD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH NIS_PATH NLSPATH RESOLV_HOST_CONF " +
			"RES_OPTIONS TZDIR",
	},
	{
		"mallopt(3), jemalloc(3), sanitizers: files they write, code they load",
		"MALLOC_* *_MALLOC_CONF JE_MALLOC* TCMALLOC_* ASAN_* LSAN_* MSAN_* TSAN_* UBSAN_*",
	},
	{"dyld(1)", "DYLD_* __XPC_DYLD_*"},
	{"terminfo(5)", "TERMINFO TERMINFO_DIRS TERMCAP TERMPATH"},
	{"openssl-env(7)", "OPENSSL_* SSL_CERT_* SSLKEYLOGFILE RANDFILE"},
	{"GTK, GIO, GStreamer, Qt: modules", "GTK_MODULES GTK_PATH GTK_EXE_PREFIX GIO_MODULE_DIR GIO_EXTRA_MODULES " +
		"GDK_PIXBUF_MODULE* GST_PLUGIN* QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH"},
	{"krb5: kerberos(7), SASL, PKCS 11, ODBC", "KRB5* SASL_* P11_KIT_* PKCS11_* ODBC* TNS_ADMIN ORACLE_HOME"},
	{
		"graphics and computing: layers and drivers",
		"VK_* LIBGL_* GBM_* OCL_* OPENCL_* CUDA_INJECTION* OMP_TOOL_LIBRARIES WINEDLL* LADSPA_PATH ALSA_* MAGICK_* GS_*",
	},

	// Shells and the programs around them.
	{"bash(1), dash(1), zshparam(1), fish(1)", "BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS ENV ZDOTDIR FPATH PS4 IFS " +
		"CDPATH GLOBIGNORE PS0 PROMPT_* INPUTRC HISTFILE"},
	{"git(1)", "GIT_*"},
	{"ssh(1), rsync(1), svn, cvs, hg, sudo(8)", "SSH_* RSYNC_RSH RSYNC_CONNECT_PROG SVN_SSH CVS_RSH HGRCPATH HGEDITOR " +
		"SUDO_ASKPASS SUDO_EDITOR"},
	{"man(1), fzf(1), tar(1), zip(1)", "MANPATH MANOPT MANROFFOPT INFOPATH GROFF_* FZF_* TAR_OPTIONS ZIPOPT"},
	{"less(1), grep(1), ripgrep, gawk(1)", "LESS LESSOPEN LESSCLOSE LESSKEY* GREP_OPTIONS RIPGREP_CONFIG_PATH AWKPATH " +
		"AWKLIBPATH"},
	{"vim(1), emacs(1), psql(1)", "VIMINIT EXINIT GVIMINIT VIM VIMRUNTIME MYVIMRC EMACSLOADPATH EMACSDATA PSQLRC " +
		"PGSYSCONFDIR PGSERVICEFILE"},
	{"curl(1), wget(1), gpg(1)", "CURL_HOME CURL_CA_BUNDLE REQUESTS_CA_BUNDLE WGETRC NETRC GNUPGHOME"},
	{"docker, kubectl, helm, terraform, ansible, gcloud", "DOCKER_* KUBECONFIG HELM_* TF_CLI_* ANSIBLE_* CLOUDSDK_*"},

	{"managers of versions and packages", "NIX_* HOMEBREW_* ASDF_* MISE_* PYENV_* RBENV_* NODENV_* NVM_* VOLTA_* " +
		"CONDA_* SDKMAN_*"},

	// Languages.
	{"perlrun(1)", "PERL*"},
	{"python(1), pip, uv", "PYTHON* PYTEST_* VIRTUAL_ENV PIP_* UV_* POETRY_* JUPYTER_* IPYTHONDIR"},
	{"ruby(1), gem, bundler", "RUBY* GEM_* BUNDLE_* BUNDLER_*"},
	{"node(1), npm, yarn, bun, deno", "NODE_* NPM_CONFIG_* COREPACK_* YARN_* BUN_* DENO_* TS_NODE_* ELECTRON_*"},
	{".NET: runtime configuration, profiling", "DOTNET_* CORECLR_* COR_* COMPLUS_* MSBUILD* NUGET_*"},
	{"java(1), maven, gradle, sbt, ant, kotlin, scala, groovy, leiningen", "JAVA_* _JAVA_OPTIONS JDK_* CLASSPATH " +
		"MAVEN_* GRADLE_* SBT_OPTS ANT_OPTS ANT_ARGS JRUBY_* KOTLIN_* SCALA_* GROOVY_* LEIN_*"},
	{"php(1), composer", "PHPRC PHP_* COMPOSER_*"},
	{"lua(1), luarocks", "LUA_* LUAROCKS_*"},
	{"go help environment", "GOFLAGS GOPATH GOBIN GOMODCACHE CGO_* GOPROXY GOTOOLCHAIN GOENV GOROOT GOSUMDB GONOSUMDB " +
		"GONOSUMCHECK GONOPROXY GOPRIVATE GOINSECURE GOVCS GOAUTH GOCACHEPROG GOPACKAGESDRIVER"},
	{"cargo, rustc, rustup", "CARGO_* RUSTC* RUSTFLAGS RUSTDOC* RUSTUP_*"},
	{"make, gcc(1), cmake, pkg-config(1)", "CC CXX CPP LD AR AS PKG_CONFIG* SWIFT_* MAKEFLAGS GNUMAKEFLAGS MAKEFILES " +
		"GCC_EXEC_PREFIX COMPILER_PATH CMAKE_*"},
	{
		"R, Octave, Julia, Erlang, Elixir, OCaml, GHC, Guile, Tcl",
		"R_PROFILE* R_ENVIRON* R_LIBS* R_HOME OCTAVE_* JULIA_* ERL_* ELIXIR_* MIX_* OCAML* CAML_LD_LIBRARY_PATH GHCRTS " +
			"GHC_* STACK_* CABAL_* GUILE_* TCLLIBPATH TCL_LIBRARY",
	},
}
