package shell

// loaderVariables put code into every program that starts.
var loaderVariables = []string{
	"LD_*", "DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "MALLOC_*",
}

// pathVariables decide which programs and settings are found.
var pathVariables = []string{
	"PATH", "CDPATH", "FPATH", "HOME", "XDG_*", "ZDOTDIR", "MANPATH", "GLOBIGNORE", "TMPDIR", "INFOPATH", "PWD", "OLDPWD",
	"SHELL", "HASH",
}

// programVariables name a program or its options.
var programVariables = []string{
	"*PAGER", "PAGER*", "*EDITOR", "VISUAL", "BROWSER", "GIT_*", "NODE_OPTIONS", "NODE_PATH", "PYTHON*", "PERL5*",
	"PERLLIB", "RUBY*",
	"GEM_*", "BUNDLE_*", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY", "GOENV", "GOROOT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS", "MAVEN_OPTS",
	"GRADLE_OPTS", "LESSOPEN", "LESSCLOSE", "LESS", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "FZF_*", "CC", "CXX", "LD",
	"AR", "RUSTC*", "CARGO_*",
	"RUSTFLAGS", "MAKEFLAGS", "DOCKER_HOST", "DOCKER_*", "KUBECONFIG", "SSH_*", "SUDO_ASKPASS", "NPM_CONFIG_*",
	"npm_config_*", "PIP_*", "*_PROXY",
	"TAR_OPTIONS", "ZIPOPT", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "PSQLRC", "PGSERVICEFILE", "OPENSSL_*", "CURL_HOME",
	"WGETRC", "AWS_*", "LUA_INIT*",
	"PHPRC", "PHP_INI_SCAN_DIR", "DOTNET_*", "COREPACK_*", "YARN_*", "TERMINFO*", "TERMCAP",
}

// shellVariables are run or obeyed by the shell.
var shellVariables = []string{
	"BASH_*", "BASHOPTS", "ENV", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT*", "SHELLOPTS", "IFS", "HIST*", "FIGNORE",
	"POSIXLY_CORRECT",
	"EXECIGNORE", "INPUTRC", "MAILPATH", "PROMPT_COMMAND", "FUNCNEST", "TIMEFORMAT", "OPTIND",
}
