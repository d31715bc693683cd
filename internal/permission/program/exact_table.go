package program

// exactTexts list the options by which a program runs another program, takes its settings from elsewhere or reads and
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
//
// A program with many options has several lines.
var exactTexts = []string{exactGit, exactJavaScript, exactBuilders, exactCompilers, exactScripts, exactArchives, exactServices}

// exactGit are those of git.
const exactGit = `
	git clone        : --template -c --config --separate-git-dir --upload-pack -u --reference --reference-if-able --bundle-uri
	git init         : --template --separate-git-dir
	git fetch        : --upload-pack --refmap --server-option
	git pull         : --upload-pack -x --exec --strategy -s --gpg-sign -S
	git push         : --receive-pack --exec --repo
	git commit       : -F --file -t --template --pathspec-from-file --gpg-sign -S --trailer
	git merge        : -F --file --strategy -s --gpg-sign -S
	git add          : --pathspec-from-file --chmod
	git rebase       : -x --exec --strategy -s --gpg-sign -S
	git am           : --exec --directory --patch-format --gpg-sign -S
	git apply        : --unsafe-paths --directory --build-fake-ancestor
	git tag          : -F --file -u --local-user -s --sign
	git submodule    : --reference --recursive --init --remote
	git format-patch : --to-cmd --cc-cmd --signature-file
	git config       : -f --file --blob
`

// exactJavaScript are those of JavaScript's package managers and tools.
const exactJavaScript = `
	npm      : --script-shell --node-options --prefix -C --userconfig --globalconfig --shell --init-module --git --editor
	npm      : --viewer --registry --python --call -c --global -g --location --cache --node-gyp --ignore-path
	npx      : --script-shell --node-options --prefix -C --userconfig --shell --registry
	pnpm     : --dir -C --script-shell --node-options --shell-emulator --userconfig --registry --global -g --config*
	pnpm     : --store-dir --shell-mode -c --modules-dir --virtual-store-dir
	yarn     : --cwd --use-yarnrc --modules-folder --registry --cache-folder --script-shell --global-folder --prefix
	yarn     : --node-options
	bun      : --cwd --preload -r --config -c --registry --global -g --shell --env-file --import -e --eval -p --print
	deno     : --config -c --import-map --allow-all -A --allow-run* --allow-ffi* --allow-write* --allow-net* --allow-read*
	deno     : --allow-env* --preload --cert --env* --unsafely-ignore-certificate-errors
	jest     : --config -c --rootDir --globalSetup --globalTeardown --setupFiles* --testEnvironment --transform* --runner
	jest     : --testRunner --reporters --preset --projects --resolver --snapshotResolver --testSequencer --prettierPath
	jest     : --watchPlugins --coverageDirectory --outputFile --cacheDirectory --filter --testResultsProcessor
	jest     : --snapshotSerializers --haste --globals --roots --dependencyExtractor
	vitest   : --config -c --root -r --dir --environment --globalSetup --reporter --outputFile* --pool* --browser*
	vitest   : --coverage* --sequence* --execArgv* --api* --setupFiles* --workspace --project --snapshotEnvironment --runner
	mocha    : --require -r --config --file --reporter -R --ui -u --package --opts --import --loader --experimental-loader
	mocha    : --node-option -n --extension --reporter-option* -O
	eslint   : --config -c --plugin --rulesdir --resolve-plugins-relative-to --parser --format -f --output-file -o
	eslint   : --cache-location --cache-file --no-config-lookup --flag --stdin-filename
	prettier : --config --plugin --plugin-search-dir --ignore-path --config-path --cache-location
	tsc      : -p --project --outDir --outFile --tsBuildInfoFile --generateTrace --generateCpuProfile --declarationDir
	tsc      : --plugins --rootDir --build -b
`

// exactBuilders are those of programs that build what a file says.
const exactBuilders = `
	make    : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir
	make    : --assume-old -W --what-if
	gmake   : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir
	gmake   : --assume-old -W --what-if
	cmake   : -E -P* -C* -D* -G* -T* --toolchain --preset -X* --graphviz* --trace-redirect* --profiling-output*
	cmake   : --install-prefix* --
	ctest   : -S* -SP* --build-and-test --overwrite -D* -M* -T* --script --output-log -O* --test-dir --build-command
	ninja   : -f -C -t -w -d
	meson   : --native-file --cross-file -D* --wipe --vsenv
	just    : -f --justfile -d --working-directory --shell --shell-arg --shell-command -c --command --set --chooser
	just    : --dotenv-path --dotenv-filename -g --global-justfile -e --edit
	task    : -t --taskfile -d --dir -g --global
	go-task : -t --taskfile -d --dir -g --global
	rake    : -f --rakefile -r --require -I --libdir -e --execute -E --execute-continue -p --execute-print -R --rakelibdir
	rake    : -C --directory
	bazel   : --run_under --override_repository --override_module --script_path --shell_executable --bazelrc --config
	bazel   : --action_env --host_action_env --define --repo_env --workspace_status_command --spawn_strategy --strategy
	bazel   : --extra_toolchains --crosstool_top --output_base --output_user_root --profile --build_event*
	gradle  : -I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home --include-build -D*
	gradle  : -P* --write-locks --project-cache-dir
	gradlew : -I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home --include-build -D*
	gradlew : -P* --write-locks --project-cache-dir
	mvn     : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	mvnw    : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	ant     : -f -file -buildfile -lib -D* -propertyfile -logger -listener -inputhandler -find -s -logfile -l
	sbt     : -D* -J* -sbt-jar* --java-home* -java-home* --sbt-dir* -S* --addPluginSbtFile*
`

// exactCompilers are those of compilers and what comes with them.
const exactCompilers = `
	go            : -ldflags -gcflags -asmflags -gccgoflags -toolexec -exec -vettool -overlay -modfile -C -pkgdir -pgo -compiler
	go            : -installsuffix -workfile >-o >-coverprofile >-cpuprofile >-memprofile >-blockprofile >-mutexprofile >-trace
	go            : >-outputdir -fuzzcachedir -test.* -args
	gofmt         : -cpuprofile
	golangci-lint : --config -c --path-prefix --out-format --output* --cpu-profile-path --mem-profile-path --trace-path --fix
	gcc           : --* -wrapper -fplugin* -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler -Xpreprocessor -include -imacros
	gcc           : -iprefix -isysroot -dumpdir -save-temps* -fdump* -aux-info -M* -T -idirafter --sysroot -flto* -fuse-ld* -x
	gcc           : -pass-exit-codes -fcompare-debug* -run* -fprofile* -ftest-coverage -fmodule-mapper* --param >-o
	clang         : --* -wrapper -fplugin* -fpass-plugin* -Xclang -load -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler
	clang         : -Xpreprocessor -include -imacros -ld-path* --ld-path -fuse-ld* --config -M* -save-temps* -ccc-* --driver-mode*
	clang         : --gcc-toolchain* -gcc-toolchain -isysroot --sysroot -T -x -ivfsoverlay -serialize-diagnostics -fprofile*
	clang         : -dependency-file -fcrash-diagnostics* --rsp-quoting* >-o
	rustc         : -C* --codegen -Z* --sysroot --extern --emit --out-dir -L* -l* --print* --remap-path-prefix --error-format
	rustc         : --json + >-o
	cargo         : --config -Z* --manifest-path --target-dir --registry --index --git --path -C --lockfile-path --artifact-dir
	cargo         : --out-dir --root --message-format --timings* +
	dotnet        : -p* --property* /p* -logger* --logger* --settings -s --test-adapter-path --source --configfile -l* --diag*
	dotnet        : --collect --blame* -o --output --additionalprobingpath --additional-deps --fx-version --roll-forward
	dotnet        : --depsfile --runtimeconfig
	protoc        : --plugin* -I* --proto_path* --*_out* --descriptor_set_in* --dependency_out* -o*
	buf           : --config --template --path --modcacherw -o --output
`

// exactScripts are those of Python, Ruby and PHP.
const exactScripts = `
	pip3     : -r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f --find-links -t --target
	pip3     : --prefix --root --python --config-settings -C --global-option --install-option --src --proxy --cert
	pip3     : --client-cert --trusted-host --log --cache-dir --report --only-final
	uv       : --index --default-index --index-url -i --extra-index-url --find-links -f --python -p --config-file --directory
	uv       : --project --target --prefix --with --with-editable --with-requirements -r --env-file --script --build-option
	uv       : --config-setting -C --editable -e --allow-insecure-host --cache-dir --overrides
	poetry   : --directory -C --project -P --source
	pytest   : -p --rootdir -c --config-file --confcutdir -o --override-ini --basetemp --pdbcls --log-file --junitxml
	pytest   : --junit-xml --tx --rsyncdir --pyargs --import-mode --cache-clear --debug --pastebin --resultlog
	mypy     : --config-file --python-executable --cache-dir --install-types --custom-typeshed-dir --custom-typing-module
	mypy     : --junit-xml --*-report
	pylint   : --rcfile --load-plugins --init-hook --output
	flake8   : --config --append-config --output-file --require-plugins
	ruff     : --config --output-file -o --cache-dir --add-noqa
	black    : --config --include --code
	rubocop  : -r --require -c --config -o --out -f --format --plugin
	rspec    : -r --require -O --options -I -f --format -o --out --default-path
	phpunit  : --bootstrap -c --configuration --include-path --extension --printer --log* --coverage* --testdox* -d
	composer : -d --working-dir
	bundle   : --gemfile --path --binstubs --shebang --with --standalone
	rails    : -r --require -e --environment -m --template
`

// exactArchives are those of archives, and of sed.
const exactArchives = `
	tar    : -P --absolute-names --transform --xform -I --use-compress-program -F --info-script --new-volume-script
	tar    : --to-command --checkpoint-action --rsh-command --rmt-command -T --files-from --one-top-level --index-file
	tar    : --listed-incremental -g -s --unlink-first -U --recursive-unlink --keep-directory-symlink --no-overwrite-dir
	tar    : --same-permissions -p --volno-file --overwrite --remove-files
	bsdtar : -P --absolute-paths --use-compress-program -s -T --files-from --options -U --include --insecure
	unzip  : -: -d -o -^ -K
	7z     : -o* -w* -i* -x* -si* -so* -sfx* -spf* -snl* -v*
	zip    : -T -TT --unzip-command -O -m -b
	sed    : -i* --in-place -f --file
`

// exactServices are those of services, clouds and the network.
const exactServices = `
	docker build     : -f --file --build-context --secret --ssh -o --output --cache-from --cache-to --metadata-file --iidfile --allow
	docker build     : --builder
	docker compose   : -f --file --env-file --project-directory --profile
	docker-compose   : -f --file --env-file --project-directory --profile
	terraform        : -chdir* -var-file* -backend-config* -plugin-dir* -state* -out* -from-module* -replace* -target*
	kubectl          : --kubeconfig --context --server -s --token --as --as-group --cluster --user --raw --cache-dir --profile-output
	kubectl          : --overrides --plugin*
	helm             : --post-renderer* --kubeconfig --kube-context --kube-apiserver --set-file --repo --ca-file --cert-file
	helm             : --key-file --keyring --registry-config --repository-config
	aws              : --endpoint-url --profile --cli-input-json --cli-input-yaml --ca-bundle --no-verify-ssl
	gh               : --hostname -F --input --body-file --notes-file -R --repo --clone
	ssh              : -F -S -o -I -J -D -L -R -W -w -E -i
	scp              : -F -S -o -J -D -i -c
	sftp             : -F -S -o -J -D -b -s -i
	rsync            : -e --rsh --rsync-path --files-from --include-from --exclude-from --filter -f --temp-dir -T --partial-dir
	rsync            : --backup-dir --log-file --write-batch --only-write-batch --read-batch --password-file --daemon --config -M
	rsync            : --remote-option --copy-dest --link-dest --compare-dest --devices -D --super --early-input --stop-at
	wget             : -i --input-file -e --execute -O --output-document -P --directory-prefix --use-askpass --post-file --body-file
	wget             : --config -o --output-file -a --append-output --load-cookies --save-cookies --warc* --rejected-log
	wget             : --certificate --private-key --ca-certificate --ca-directory --crl-file --egd-file --random-file --pinnedpubkey
	wget             : -H --span-hosts -r --recursive -m --mirror -B --base --header --proxy* --http-proxy* --hsts-file
	wget             : --secure-protocol --bind-address --dns-servers --method --netrc* --referer -x --force-directories --cut-dirs
	wget             : --protocol-directories
	curl             : --next -: --connect-to --resolve -x --proxy* --preproxy --socks* --doh-url --dns* --interface --unix-socket
	curl             : --abstract-unix-socket -K --config --url --url-query --cert* -E --key* --cacert --capath --crlfile --netrc* -n
	curl             : --engine --egd-file --random-file -T --upload-file --variable --expand* -Q --quote --postquote --prequote
	curl             : --mail* --ftp-port -P --haproxy* --aws-sigv4 --delegation --krb --login-options --proto* --trace* --stderr
	curl             : --libcurl --hsts --alt-svc --etag* --cookie-jar -c --dump-header -D -o --output* -O --remote-name* -J
	curl             : --remote-header-name --create-file-mode --create-dirs --ip-tos --ipfs-gateway --tls* --oauth2-bearer --user -u
	curl             : --location-trusted --skip-existing --remove-on-error
	psql             : -f --file -o --output -L --log-file -h --host -v --set --variable -c --command
	ansible-playbook : -i --inventory* -e --extra-vars --module-path -M --vault* --private-key --ssh-common-args --ssh-extra-args
	ansible-playbook : --sftp-extra-args --scp-extra-args --become-method --connection -c
	ansible          : -i --inventory* -e --extra-vars --module-path -M -m --module-name -a --args --vault* --private-key
	ansible          : --ssh-common-args --ssh-extra-args --connection -c --playbook-dir
	pre-commit       : -c --config --hook-dir --repo -C
	nix              : --expr --impure -f --file --option --override-input --extra-* --store --builders --include -I --command -c
`
