package program

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// exactText lists the options by which a program runs another program, takes its settings from elsewhere or reads and
// writes unexpected files. A user who allows "make *" does not mean them, so only a rule with their exact text covers
// them. A line is a program, or a program with a subcommand, and its options:
//
//	--name  a long option, with and without a value, also shortened
//	-x      a letter, alone or among other letters, with and without a value
//	-name   a long option with one dash (two are taken too)
//	-name*  whatever begins with it
//	NAME=   a word that begins with it
//	>-x     the value is a file that is written: it counts as an access instead
//	+       a word that begins with it
const exactText = `
	git clone     : --template -c --config --separate-git-dir --upload-pack -u --reference --reference-if-able --bundle-uri
	git init      : --template --separate-git-dir
	git fetch     : --upload-pack --refmap --server-option
	git pull      : --upload-pack -x --exec --strategy -s --gpg-sign -S
	git push      : --receive-pack --exec --repo
	git commit    : -F --file -t --template --pathspec-from-file --gpg-sign -S --trailer
	git merge     : -F --file --strategy -s --gpg-sign -S
	git add       : --pathspec-from-file --chmod
	git rebase    : -x --exec --strategy -s --gpg-sign -S
	git am        : --exec --directory --patch-format --gpg-sign -S
	git apply     : --unsafe-paths --directory --build-fake-ancestor
	git tag       : -F --file -u --local-user -s --sign
	git submodule : --reference --recursive --init --remote
	git format-patch : --to-cmd --cc-cmd --signature-file
	git config    : -f --file --blob
	npm   : --script-shell --node-options --prefix -C --userconfig --globalconfig --shell --init-module --git --editor --viewer --registry --python --call -c --global -g --location --cache --node-gyp --ignore-path
	npx   : --script-shell --node-options --prefix -C --userconfig --shell --registry
	pnpm  : --dir -C --script-shell --node-options --shell-emulator --userconfig --registry --global -g --config* --store-dir --shell-mode -c --modules-dir --virtual-store-dir
	yarn  : --cwd --use-yarnrc --modules-folder --registry --cache-folder --script-shell --global-folder --prefix --node-options
	bun   : --cwd --preload -r --config -c --registry --global -g --shell --env-file --import -e --eval -p --print
	deno  : --config -c --import-map --allow-all -A --allow-run* --allow-ffi* --allow-write* --allow-net* --allow-read* --allow-env* --preload --cert --env* --unsafely-ignore-certificate-errors
	make  : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir --assume-old -W --what-if
	gmake : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir --assume-old -W --what-if
	cmake : -E -P* -C* -D* -G* -T* --toolchain --preset -X* --graphviz* --trace-redirect* --profiling-output* --install-prefix* --
	ctest : -S* -SP* --build-and-test --overwrite -D* -M* -T* --script --output-log -O* --test-dir --build-command
	ninja : -f -C -t -w -d
	meson : --native-file --cross-file -D* --wipe --vsenv
	just  : -f --justfile -d --working-directory --shell --shell-arg --shell-command -c --command --set --chooser --dotenv-path --dotenv-filename -g --global-justfile -e --edit
	task  : -t --taskfile -d --dir -g --global
	go-task : -t --taskfile -d --dir -g --global
	rake  : -f --rakefile -r --require -I --libdir -e --execute -E --execute-continue -p --execute-print -R --rakelibdir -C --directory
	bazel : --run_under --override_repository --override_module --script_path --shell_executable --bazelrc --config --action_env --host_action_env --define --repo_env --workspace_status_command --spawn_strategy --strategy --extra_toolchains --crosstool_top --output_base --output_user_root --profile --build_event*
	gradle  : -I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home --include-build -D* -P* --write-locks --project-cache-dir
	gradlew : -I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home --include-build -D* -P* --write-locks --project-cache-dir
	mvn   : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	mvnw  : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	ant   : -f -file -buildfile -lib -D* -propertyfile -logger -listener -inputhandler -find -s -logfile -l
	sbt   : -D* -J* -sbt-jar* --java-home* -java-home* --sbt-dir* -S* --addPluginSbtFile*
	go    : -ldflags -gcflags -asmflags -gccgoflags -toolexec -exec -vettool -overlay -modfile -C -pkgdir -pgo -compiler -installsuffix -workfile >-o >-coverprofile >-cpuprofile >-memprofile >-blockprofile >-mutexprofile >-trace >-outputdir -fuzzcachedir -test.* -args
	gofmt : -cpuprofile
	golangci-lint : --config -c --path-prefix --out-format --output* --cpu-profile-path --mem-profile-path --trace-path --fix
	gcc   : --* -wrapper -fplugin* -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler -Xpreprocessor -include -imacros -iprefix -isysroot -dumpdir -save-temps* -fdump* -aux-info -M* -T -idirafter --sysroot -flto* -fuse-ld* -x -pass-exit-codes -fcompare-debug* -run* -fprofile* -ftest-coverage -fmodule-mapper* --param >-o
	clang : --* -wrapper -fplugin* -fpass-plugin* -Xclang -load -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler -Xpreprocessor -include -imacros -ld-path* --ld-path -fuse-ld* --config -M* -save-temps* -ccc-* --driver-mode* --gcc-toolchain* -gcc-toolchain -isysroot --sysroot -T -x -ivfsoverlay -serialize-diagnostics -fprofile* -dependency-file -fcrash-diagnostics* --rsp-quoting* >-o
	rustc : -C* --codegen -Z* --sysroot --extern --emit --out-dir -L* -l* --print* --remap-path-prefix --error-format --json + >-o
	cargo : --config -Z* --manifest-path --target-dir --registry --index --git --path -C --lockfile-path --artifact-dir --out-dir --root --message-format --timings* +
	tar   : -P --absolute-names --transform --xform -I --use-compress-program -F --info-script --new-volume-script --to-command --checkpoint-action --rsh-command --rmt-command -T --files-from --one-top-level --index-file --listed-incremental -g -s --unlink-first -U --recursive-unlink --keep-directory-symlink --no-overwrite-dir --same-permissions -p --volno-file --overwrite --remove-files
	bsdtar : -P --absolute-paths --use-compress-program -s -T --files-from --options -U --include --insecure
	unzip : -: -d -o -^ -K
	7z    : -o* -w* -i* -x* -si* -so* -sfx* -spf* -snl* -v*
	zip   : -T -TT --unzip-command -O -m -b
	pip3  : -r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f --find-links -t --target --prefix --root --python --config-settings -C --global-option --install-option --src --proxy --cert --client-cert --trusted-host --log --cache-dir --report --only-final
	uv    : --index --default-index --index-url -i --extra-index-url --find-links -f --python -p --config-file --directory --project --target --prefix --with --with-editable --with-requirements -r --env-file --script --build-option --config-setting -C --editable -e --allow-insecure-host --cache-dir --overrides
	poetry : --directory -C --project -P --source
	pytest : -p --rootdir -c --config-file --confcutdir -o --override-ini --basetemp --pdbcls --log-file --junitxml --junit-xml --tx --rsyncdir --pyargs --import-mode --cache-clear --debug --pastebin --resultlog
	jest   : --config -c --rootDir --globalSetup --globalTeardown --setupFiles* --testEnvironment --transform* --runner --testRunner --reporters --preset --projects --resolver --snapshotResolver --testSequencer --prettierPath --watchPlugins --coverageDirectory --outputFile --cacheDirectory --filter --testResultsProcessor --snapshotSerializers --haste --globals --roots --dependencyExtractor
	vitest : --config -c --root -r --dir --environment --globalSetup --reporter --outputFile* --pool* --browser* --coverage* --sequence* --execArgv* --api* --setupFiles* --workspace --project --snapshotEnvironment --runner
	mocha  : --require -r --config --file --reporter -R --ui -u --package --opts --import --loader --experimental-loader --node-option -n --extension --reporter-option* -O
	eslint : --config -c --plugin --rulesdir --resolve-plugins-relative-to --parser --format -f --output-file -o --cache-location --cache-file --no-config-lookup --flag --stdin-filename
	prettier : --config --plugin --plugin-search-dir --ignore-path --config-path --cache-location
	tsc    : -p --project --outDir --outFile --tsBuildInfoFile --generateTrace --generateCpuProfile --declarationDir --plugins --rootDir --build -b
	mypy   : --config-file --python-executable --cache-dir --install-types --custom-typeshed-dir --custom-typing-module --junit-xml --*-report
	pylint : --rcfile --load-plugins --init-hook --output
	flake8 : --config --append-config --output-file --require-plugins
	ruff   : --config --output-file -o --cache-dir --add-noqa
	black  : --config --include --code
	rubocop : -r --require -c --config -o --out -f --format --plugin
	rspec  : -r --require -O --options -I -f --format -o --out --default-path
	phpunit : --bootstrap -c --configuration --include-path --extension --printer --log* --coverage* --testdox* -d
	composer : -d --working-dir
	bundle : --gemfile --path --binstubs --shebang --with --standalone
	rails  : -r --require -e --environment -m --template
	dotnet : -p* --property* /p* -logger* --logger* --settings -s --test-adapter-path --source --configfile -l* --diag* --collect --blame* -o --output --additionalprobingpath --additional-deps --fx-version --roll-forward --depsfile --runtimeconfig
	docker build : -f --file --build-context --secret --ssh -o --output --cache-from --cache-to --metadata-file --iidfile --allow --builder
	docker compose : -f --file --env-file --project-directory --profile
	docker-compose : -f --file --env-file --project-directory --profile
	terraform : -chdir* -var-file* -backend-config* -plugin-dir* -state* -out* -from-module* -replace* -target*
	kubectl : --kubeconfig --context --server -s --token --as --as-group --cluster --user --raw --cache-dir --profile-output --overrides --plugin*
	helm   : --post-renderer* --kubeconfig --kube-context --kube-apiserver --set-file --repo --ca-file --cert-file --key-file --keyring --registry-config --repository-config
	aws    : --endpoint-url --profile --cli-input-json --cli-input-yaml --ca-bundle --no-verify-ssl
	gh     : --hostname -F --input --body-file --notes-file -R --repo --clone
	ssh    : -F -S -o -I -J -D -L -R -W -w -E -i
	scp    : -F -S -o -J -D -i -c
	sftp   : -F -S -o -J -D -b -s -i
	rsync  : -e --rsh --rsync-path --files-from --include-from --exclude-from --filter -f --temp-dir -T --partial-dir --backup-dir --log-file --write-batch --only-write-batch --read-batch --password-file --daemon --config -M --remote-option --copy-dest --link-dest --compare-dest --devices -D --super --early-input --stop-at
	wget   : -i --input-file -e --execute -O --output-document -P --directory-prefix --use-askpass --post-file --body-file --config -o --output-file -a --append-output --load-cookies --save-cookies --warc* --rejected-log --certificate --private-key --ca-certificate --ca-directory --crl-file --egd-file --random-file --pinnedpubkey -H --span-hosts -r --recursive -m --mirror -B --base --header --proxy* --http-proxy* --hsts-file --secure-protocol --bind-address --dns-servers --method --netrc* --referer -x --force-directories --cut-dirs --protocol-directories
	curl   : --next -: --connect-to --resolve -x --proxy* --preproxy --socks* --doh-url --dns* --interface --unix-socket --abstract-unix-socket -K --config --url --url-query --cert* -E --key* --cacert --capath --crlfile --netrc* -n --engine --egd-file --random-file -T --upload-file --variable --expand* -Q --quote --postquote --prequote --mail* --ftp-port -P --haproxy* --aws-sigv4 --delegation --krb --login-options --proto* --trace* --stderr --libcurl --hsts --alt-svc --etag* --cookie-jar -c --dump-header -D -o --output* -O --remote-name* -J --remote-header-name --create-file-mode --create-dirs --ip-tos --ipfs-gateway --tls* --oauth2-bearer --user -u --location-trusted --skip-existing --remove-on-error
	psql   : -f --file -o --output -L --log-file -h --host -v --set --variable -c --command
	sed    : -i* --in-place -f --file
	ansible-playbook : -i --inventory* -e --extra-vars --module-path -M --vault* --private-key --ssh-common-args --ssh-extra-args --sftp-extra-args --scp-extra-args --become-method --connection -c
	ansible : -i --inventory* -e --extra-vars --module-path -M -m --module-name -a --args --vault* --private-key --ssh-common-args --ssh-extra-args --connection -c --playbook-dir
	pre-commit : -c --config --hook-dir --repo -C
	protoc : --plugin* -I* --proto_path* --*_out* --descriptor_set_in* --dependency_out* -o*
	buf    : --config --template --path --modcacherw -o --output
	nix    : --expr --impure -f --file --option --override-input --extra-* --store --builders --include -I --command -c
`

// exactOption is one option of the table.
type exactOption struct {
	text   string
	writes bool // its value is a file that is written
	prefix bool // whatever begins with it
}

var exactOptions = sync.OnceValue(func() map[string][]exactOption {
	out := map[string][]exactOption{}
	for name, options := range perLine(exactText) {
		for text := range strings.FieldsSeq(options) {
			o := exactOption{}
			text, o.writes = strings.CutPrefix(text, ">")
			o.text, o.prefix = strings.CutSuffix(text, "*")
			out[name] = append(out[name], o)
		}
	}
	for name, of := range map[string]string{"g++": "gcc", "cc": "gcc", "c++": "gcc", "gfortran": "gcc", "cpp": "gcc", "clang++": "clang", "clang-cl": "clang", "pip": "pip3", "bunx": "bun", "podman": "docker", "gtar": "tar", "npm-run": "npm", "pnpx": "pnpm", "7za": "7z", "7zz": "7z"} {
		out[name] = out[of]
	}
	for _, name := range []string{"cc", "c++", "g++"} { // either compiler, by the system
		out[name] = slices.Concat(out["gcc"], out["clang"])
	}
	return out
})

// exactWords marks a use that has an option of the table, so that only an exact rule covers it.
func (c *call) exactWords(name string) {
	if c.Class.ReadOnly() {
		return
	}
	sub := ""
	if i := slices.IndexFunc(c.args, func(w Word) bool { return !strings.HasPrefix(w.Text, "-") }); i >= 0 {
		sub = c.args[i].Text
	}
	args := c.args
	switch {
	case len(args) > 0 && strings.HasSuffix(name, "tar") && !strings.HasPrefix(args[0].Text, "-"):
		args = slices.Concat([]Word{{Text: "-" + args[0].Text}}, args[1:]) // tar xPf
	case sub == "compose" || name == "docker-compose":
		args = args[:beforeVerb(args)]
	}
	own, ofSub := exactOptions()[name], exactOptions()[name+" "+sub]
	if len(own)+len(ofSub) > 0 {
		one, all := oneDash.has(name), whole.has(name)
		for _, options := range [][]exactOption{own, ofSub} {
			for i, w := range args {
				c.exactWord(options, i, w, one, all)
			}
		}
	}
	switch name {
	case "make", "gmake":
		c.makeVariables()
	case "curl", "wget":
		c.oneAddress()
	case "patch":
		if len(c.ops) == 0 {
			c.exact("patch changes the files that the patch names")
		}
	}
}

// composeVerbs are the subcommands of docker compose. The options before them are its own.
var composeVerbs = set(strings.Fields(`attach build commit config cp create down events exec export images kill logs ls pause port ps pull push
	restart rm run scale start stats stop top unpause up version wait watch`))

func beforeVerb(args []Word) int {
	if i := slices.IndexFunc(args, func(w Word) bool { return composeVerbs.has(w.Text) }); i >= 0 {
		return i
	}
	return len(args)
}

// oneDash are programs whose long options have one dash, so that their letters are never joined; whole are those
// that take no shortened long options.
var (
	oneDash = set(strings.Fields("go gofmt gcc g++ cc c++ gfortran cpp clang clang++ clang-cl mvn mvnw ant gradle gradlew terraform protoc dotnet tsc rustc kotlinc 7z 7za 7zz"))
	whole   = set(strings.Fields("go gofmt jest vitest mocha eslint prettier tsc docker docker-compose podman kubectl helm aws gh dotnet cargo rustc terraform uv ruff pnpm yarn bun deno"))
)

func (c *call) exactWord(options []exactOption, i int, w Word, oneDash, whole bool) {
	for _, o := range options {
		value, attached, ok := o.found(w.Text, oneDash, whole)
		if !ok {
			continue
		}
		if !o.writes {
			c.Literal = true
			return
		}
		if !attached && i+1 < len(c.args) {
			value = c.args[i+1].Text
		}
		if value != "" && !slices.Contains(c.Writes, value) {
			c.Writes = append(c.Writes, filepath.ToSlash(value))
		}
	}
}

// found reports whether a word is the option, with its value where that is a part of the word.
func (o exactOption) found(word string, oneDash, whole bool) (value string, attached, ok bool) {
	switch name, rest, has := strings.Cut(word, "="); {
	case o.prefix:
		return rest, has, strings.HasPrefix(word, o.text)
	case o.text == "+" || strings.HasSuffix(o.text, "="):
		return "", false, strings.HasPrefix(word, o.text)
	case o.text == "--":
		return "", false, word == "--"
	case strings.HasPrefix(o.text, "--"):
		return rest, has, name == o.text || !whole && len(name) > 3 && strings.HasPrefix(o.text, name)
	case len(o.text) > 2:
		return rest, has, name == o.text || name == "-"+o.text
	}
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return "", false, false
	}
	at := strings.IndexByte(word[1:], o.text[1])
	if at < 0 || oneDash && (at > 0 || whole && len(word) > 2 && word[2] != '=') {
		return "", false, false
	}
	value = strings.TrimPrefix(word[1+at+1:], "=")
	return value, value != "", true
}

// makeVariables: the value of a variable is text that make expands and hands to a shell. Numbers and words for yes
// and no are harmless.
func (c *call) makeVariables() {
	for _, w := range c.args {
		name, value, ok := strings.Cut(w.Text, "=")
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		switch strings.ToLower(value) {
		case "", "yes", "no", "true", "false", "on", "off", "y", "n", "debug", "release":
		default:
			if !isNumber(value) {
				c.exact("make hands the value of " + name + " to a shell")
			}
		}
	}
}

// plainAddress is one address on one machine, without anything that curl or wget would take for more.
var plainAddress = regexp.MustCompile(`^(https?://)?[A-Za-z0-9.-]+(:[0-9]+)?([/?#][^{}\[\]\\\s|^` + "`" + `]*)?$`)

// oneAddress: a pattern such as "curl https://a/*" speaks of one machine, so there has to be one address and no
// header that comes from a file or names another machine.
func (c *call) oneAddress() {
	if len(c.ops) != 1 || !plainAddress.MatchString(c.ops[0].Text) {
		c.Literal = true
	}
	for _, f := range c.flags {
		v := strings.TrimSpace(f.value.Text)
		switch f.name {
		case "-H", "--header", "--proxy-header":
			lower := strings.ToLower(v)
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.HasPrefix(lower, "host") || strings.HasPrefix(lower, ":")
		case "-b", "--cookie":
			c.Literal = c.Literal || !strings.Contains(v, "=")
		case "-w", "--write-out":
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.Contains(v, "%output")
		}
		if contains(curlData, f.name) {
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.Contains(v, "=@") || strings.Contains(v, "=<") || strings.HasPrefix(v, "<")
		}
	}
	c.Literal = c.Literal || len(c.strange) > 0
}
