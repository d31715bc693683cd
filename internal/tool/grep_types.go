package tool

import (
	"strings"
	"sync"
)

// fileTypes are the types of files, each with the globs of its base names: those of ripgrep --type-list but for compressed files, and
// more names for some. Both engines use them, since ripgrep's own list differs from release to release.
const fileTypes = `
	agda                : *.agda *.lagda
	aidl                : *.aidl
	amake               : *.bp *.mk
	asciidoc            : *.adoc *.asc *.asciidoc
	asm                 : *.S *.asm *.s
	asp                 : *.ascx *.ascx.cs *.ascx.vb *.aspx *.aspx.cs *.aspx.vb
	ats                 : *.ats *.dats *.hats *.sats
	avro                : *.avdl *.avpr *.avsc
	awk                 : *.awk
	bazel               : *.BUILD *.bazel *.bazelrc *.bzl BUILD WORKSPACE
	bitbake             : *.bb *.bbappend *.bbclass *.conf *.inc
	buildstream         : *.bst
	c                   : *.[chH] *.[chH].in *.cats
	cabal               : *.cabal
	cbor                : *.cbor
	ceylon              : *.ceylon
	clojure             : *.clj *.cljc *.cljs *.cljx
	cmake               : *.cmake CMakeLists.txt
	coffeescript        : *.coffee
	config              : *.cfg *.conf *.config *.ini
	coq                 : *.v
	cpp c++             : *.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in
	creole              : *.creole
	crystal             : *.cr Projectfile
	cs csharp           : *.cs
	cshtml              : *.cshtml
	css                 : *.css *.scss
	csv                 : *.csv
	cython              : *.pxd *.pxi *.pyx
	d                   : *.d
	dart                : *.dart
	dhall               : *.dhall
	diff                : *.diff *.patch
	docker              : *Dockerfile*
	dvc                 : *.dvc Dvcfile
	ebuild              : *.ebuild
	edn                 : *.edn
	elisp               : *.el
	elixir              : *.ex *.eex *.exs
	elm                 : *.elm
	erb                 : *.erb
	erlang              : *.erl *.hrl
	fidl                : *.fidl
	fish                : *.fish
	flatbuffers         : *.fbs
	fortran             : *.F *.F77 *.F90 *.F95 *.f *.f77 *.f90 *.f95 *.pfo
	fsharp              : *.fs *.fsi *.fsx
	fut                 : *.fut
	gap                 : *.g *.gap *.gd *.gi *.tst
	gn                  : *.gn *.gni
	go golang           : *.go
	gradle              : *.gradle
	graphql             : *.graphql *.graphqls
	groovy              : *.gradle *.groovy
	h                   : *.h *.hh *.hpp
	haml                : *.haml
	haskell             : *.hs *.lhs *.cpphs *.c2hs *.hsc
	hbs                 : *.hbs
	hs                  : *.hs *.lhs
	html                : *.htm *.html *.ejs
	idris               : *.idr *.lidr
	java                : *.java *.jsp *.jspx *.properties
	jinja               : *.j2 *.jinja *.jinja2
	jl julia            : *.jl
	js javascript       : *.js *.jsx *.vue *.cjs *.mjs
	json                : *.json composer.lock
	jsonl               : *.jsonl
	jupyter             : *.ipynb *.jpynb
	k                   : *.k
	kotlin kt           : *.kt *.kts
	less                : *.less
	license             : *[.-]LICEN[CS]E* AGPL-*[0-9]* APACHE-*[0-9]* BSD-*[0-9]* CC-BY-* COPYING COPYING[.-]* COPYRIGHT COPYRIGHT[.-]* EULA EULA[.-]* GFDL-*[0-9]* GNU-*[0-9]* GPL-*[0-9]* LGPL-*[0-9]* LICEN[CS]E LICEN[CS]E[.-]* MIT-*[0-9]* MPL-*[0-9]* NOTICE NOTICE[.-]* OFL-*[0-9]* PATENTS PATENTS[.-]* UNLICEN[CS]E UNLICEN[CS]E[.-]* agpl[.-]* gpl[.-]* lgpl[.-]* licen[cs]e licen[cs]e.*
	lisp                : *.el *.jl *.lisp *.lsp *.sc *.scm
	lock                : *.lock package-lock.json
	log                 : *.log
	lua                 : *.lua
	m4                  : *.ac *.m4
	make                : [Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in *.mk *.mak
	mako                : *.mako *.mao
	man                 : *.[0-9][cEFMmpSx] *.[0-9lnpx]
	markdown md         : *.markdown *.md *.mdown *.mkd *.mkdn *.mdx
	matlab              : *.m
	meson               : meson.build meson_options.txt
	minified            : *.min.css *.min.html *.min.js
	mint                : *.mint
	mk                  : mkfile
	ml                  : *.ml
	msbuild             : *.csproj *.fsproj *.proj *.props *.targets *.vcxproj
	nim                 : *.nim *.nimble *.nimf *.nims
	nix                 : *.nix
	objc                : *.h *.m
	objcpp              : *.h *.mm
	ocaml               : *.ml *.mli *.mll *.mly
	org                 : *.org *.org_archive
	pascal              : *.dpr *.inc *.lpr *.pas *.pp
	perl                : *.perl *.pl *.PL *.plh *.plx *.pm *.t
	php                 : *.php *.php3 *.php4 *.php5 *.phtml
	po                  : *.po
	pod                 : *.pod
	postscript          : *.eps *.ps
	protobuf            : *.proto
	ps                  : *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
	puppet              : *.erb *.pp *.rb
	purs                : *.purs
	py python           : *.py *.pyi
	qmake               : *.prf *.pri *.pro
	qml                 : *.qml
	r                   : *.R *.r *.Rmd *.Rnw
	racket              : *.rkt
	rdoc                : *.rdoc
	readme              : *README README*
	red                 : *.r *.red *.reds
	robot               : *.robot
	rst                 : *.rst
	ruby rb             : config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw
	rust rs             : *.rs
	sass                : *.sass *.scss
	scala               : *.scala *.sbt
	sh bash shell       : *.sh *.bash *.zsh *.ksh *.csh *.tcsh *.bashrc *.cshrc *.kshrc .bashrc .bash_login .bash_logout .bash_profile .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc
	slim                : *.skim *.slim *.slime
	smarty              : *.tpl
	sml                 : *.sig *.sml
	soy                 : *.soy
	spark               : *.spark
	spec                : *.spec
	sql                 : *.sql *.psql
	stylus              : *.styl
	sv                  : *.h *.sv *.svh *.v *.vg
	svelte              : *.svelte
	svg                 : *.svg
	swift               : *.swift
	swig                : *.def *.i
	systemd             : *.automount *.conf *.device *.link *.mount *.path *.scope *.service *.slice *.socket *.swap *.target *.timer
	taskpaper           : *.taskpaper
	tcl                 : *.tcl
	tex                 : *.tex *.ltx *.cls *.sty *.bib *.dtx *.ins
	textile             : *.textile
	tf                  : *.tf *.auto.tfvars terraform.tfvars *.tf.json *.auto.tfvars.json terraform.tfvars.json *.terraformrc terraform.rc *.tfrc *.terraform.lock.hcl
	thrift              : *.thrift
	toml                : *.toml Cargo.lock
	ts typescript       : *.ts *.tsx *.cts *.mts
	twig                : *.twig
	txt                 : *.txt
	typoscript          : *.ts *.typoscript
	vala                : *.vala
	vb                  : *.vb
	vcl                 : *.vcl
	verilog             : *.sv *.svh *.v *.vh
	vhdl                : *.vhd *.vhdl
	vim vimscript       : *.vim
	vue                 : *.vue
	webidl              : *.idl *.webidl *.widl
	wiki                : *.mediawiki *.wiki
	xml                 : *.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml
	yacc                : *.y
	yaml yml            : *.yaml *.yml
	yang                : *.yang
	zig                 : *.zig
	zsh                 : *.zsh .zlogin .zlogout .zprofile .zshenv .zshrc zlogin zlogout zprofile zshenv zshrc
`

// typeTable is fileTypes by name.
var typeTable = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(fileTypes) {
		names, globs, ok := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			if ok {
				out[name] = strings.Fields(globs)
			}
		}
	}
	return out
})
