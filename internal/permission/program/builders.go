package program

import "strings"

// builderRows are the compilers, build tools and interpreters. Each is read-only only with one of the phrases after
// |, such as --version.
func builderRows() map[string]spec {
	return asked(`
		javac        : compiles|-version|--version
		java         : runs code|-version|--version|-showversion -version
		kotlinc      : compiles|-version
		kotlin       : runs code|-version
		scala        : runs code|-version|--version
		scalac       : compiles|-version
		sbt          : runs code of the project|
		mvn          : runs what the project says|
		gradle       : evaluates build scripts|
		gradlew      : evaluates build scripts|
		ant          : runs what the build file says|
		bazel        : runs what the build files say|
		buck2        : runs what the build files say|
		pants        : runs what the build files say|
		gcc          : compiles|--version|-v|-dumpversion|-dumpmachine|-print-search-dirs
		g++          : compiles|--version|-v|-dumpversion|-dumpmachine
		cc           : compiles|--version|-v|-dumpversion|-dumpmachine
		c++          : compiles|--version|-v
		clang        : compiles|--version|-v|-dumpversion|-dumpmachine
		clang++      : compiles|--version|-v
		ld           : links|--version|-v|-V
		as           : assembles|--version
		ar           : changes archives|--version
		strip        : changes files|--version
		ninja        : runs what the build file says|--version
		meson        : runs what the build file says|--version|-v
		autoconf     : runs macros|--version
		automake     : runs macros|--version
		pkg-config   : reads what the environment says|--version
		just         : runs what the justfile says|--version|-V
		task         : runs what the taskfile says|--version
		rake         : runs code of the project|--version|-V
		invoke       : runs code of the project|
		fab          : runs code of the project|
		scons        : runs code of the project|
		waf          : runs code of the project|
		irb          : runs code|--version|-v
		ghc          : compiles|--version|--numeric-version
		stack        : builds|--version
		cabal        : builds|--version
		swift        : compiles and runs|--version
		swiftc       : compiles|--version
		xcodebuild   : runs what the project says|-version
		xcrun        : runs a program|
		elixir       : runs code|--version|-v
		mix          : runs code of the project|
		erl          : runs code|
		iex          : runs code|--version
		julia        : runs code|--version|-v
		R            : runs code|--version
		octave       : runs code|--version
		zig          : builds|version
		nim          : compiles|--version
		dart         : runs code|--version
		flutter      : runs code of the project|
		luac         : compiles|-v
		luajit       : runs code|-v
		guile        : runs code|--version
		racket       : runs code|--version
		sbcl         : runs code|--version
		clojure      : runs code|--version
		lein         : runs code of the project|
		ocaml        : runs code|-version
		dune         : runs what the project says|--version
		opam         : installs packages|--version
		cmake-gui    : is interactive|
	`)
}

// checkerRows are the same for programs that check, test, format and install.
func checkerRows() map[string]spec {
	return asked(`
		clang-format : may change files, and reads its style from the project|--version
		clang-tidy   : runs what its configuration says|--version
		tsc          : may load plugins of the project|--version|-v
		eslint       : runs code of the project|--version|-v
		prettier     : runs configuration of the project|--version
		biome        : may change files|--version
		jest         : runs code of the project|
		vitest       : runs code of the project|--version|-v
		mocha        : runs code of the project|--version
		webpack      : runs code of the project|
		vite         : runs code of the project|--version
		rollup       : runs code of the project|--version|-v
		esbuild      : builds|--version
		next         : runs code of the project|--version|-v
		nx           : runs code of the project|
		turbo        : runs code of the project|
		lerna        : runs code of the project|
		playwright   : runs code of the project|
		cypress      : runs code of the project|
		corepack     : downloads package managers|--version
		pytest       : imports code of the project|
		tox          : runs code of the project|
		nox          : runs code of the project|
		mypy         : may load plugins of the project|--version|-V
		pylint       : may load plugins of the project|
		flake8       : may load plugins of the project|
		ruff         : may change files|--version|-V|version
		black        : may change files|--version
		isort        : may change files|--version
		pyright      : may run an interpreter of the project|--version
		composer     : loads plugins|
		phpunit      : runs code of the project|
		rspec        : runs code of the project|
		rubocop      : runs code of the project|
		rails        : runs code of the project|
		pre-commit   : runs what its configuration says|--version
		husky        : installs hooks|
		lefthook     : installs and runs hooks|version
		ctest        : runs code of the project|--version
		buf          : runs plugins|--version
		protoc       : runs plugins|--version
		brew         : installs packages|--version|-v|--prefix
		snap         : installs packages|version
		flatpak      : installs or runs programs|--version
		pacman       : installs packages|--version|-V
		apk          : installs packages|--version|-V
		yum          : installs packages|--version
		dnf          : installs packages|--version
		zypper       : installs packages|--version
		port         : installs packages|version
		ffmpeg       : converts files|-version
		ffprobe      : opens what a file names|-version
	`)
}

// asked makes rows of lines "name : description|phrase|phrase".
func asked(lines string) map[string]spec {
	rows := map[string]spec{}
	for name, line := range perLine(lines) {
		does, phrases, _ := strings.Cut(line, "|")
		rows[name] = runner(does, phrases)
	}
	return rows
}
