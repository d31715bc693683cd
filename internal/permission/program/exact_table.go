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
//	*       any word: the subcommand as such
//
// A program with many options has several lines.
var exactTexts = []string{
	exactGit, exactJavaScript, exactBuilders, exactCompilers, exactScripts, exactArchives, exactServices,
	exactInterpreters, exactDocuments, exactPublishing,
}

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
	npm      : --strict-ssl --proxy --https-proxy --ca --cafile
	npx      : --script-shell --node-options --prefix -C --userconfig --shell --registry
	pnpm     : --dir -C --script-shell --node-options --shell-emulator --userconfig --registry --global -g --config*
	pnpm     : --store-dir --shell-mode -c --modules-dir --virtual-store-dir
	yarn     : --cwd --use-yarnrc --modules-folder --registry --cache-folder --script-shell --global-folder --prefix
	yarn     : --node-options
	bun      : --cwd --preload -r --config -c --registry --global -g --shell --env-file --import -e --eval -p --print
	bun      : >--outdir >--outfile --compile
	deno     : --config -c --import-map --allow-all -A --allow-run* --allow-ffi* --allow-write* --allow-net* --allow-read*
	deno     : --allow-env* --preload --cert --env* --unsafely-ignore-certificate-errors
	jest     : --config -c --rootDir --globalSetup --globalTeardown --setupFiles* --testEnvironment --transform* --runner
	jest     : --testRunner --reporters --preset --projects --resolver --snapshotResolver --testSequencer --prettierPath
	jest     : --watchPlugins --coverageDirectory --outputFile --cacheDirectory --filter --testResultsProcessor
	jest     : --snapshotSerializers --haste --globals --roots --dependencyExtractor
	jest     : --env --modulePaths --moduleDirectories --moduleNameMapper --coverageReporters
	vitest   : --config -c --root -r --dir --environment --globalSetup --reporter --outputFile* --pool* --browser*
	vitest   : --typecheck* --deps* --outputJson* --ui* --open*
	vitest   : --coverage* --sequence* --execArgv* --api* --setupFiles* --workspace --project --snapshotEnvironment --runner
	mocha    : --require -r --config --file --reporter -R --ui -u --package --opts --import --loader --experimental-loader
	mocha    : --node-option -n --extension --reporter-option* -O
	eslint   : --config -c --plugin --rulesdir --resolve-plugins-relative-to --parser --format -f --output-file -o
	eslint   : --cache-location --cache-file --no-config-lookup --flag --stdin-filename
	eslint   : --inspect-config --init --ignore-path
	prettier : --config --plugin --plugin-search-dir --ignore-path --config-path --cache-location
	tsc      : -p --project --outDir --outFile --tsBuildInfoFile --generateTrace --generateCpuProfile --declarationDir
	tsc      : --plugins --rootDir --build -b
	webpack  : --config -c --output-path -o --require -r
	vite     : --config -c --outDir --host* --configLoader
	rollup   : -c --config* -p --plugin -o --file -d --dir
	esbuild  : --servedir* --inject* >--outfile >--outdir --metafile*
	turbo    : --cache-dir --cwd
	nodemon  : -x --exec --config -r --require
`

// exactBuilders are those of programs that build what a file says.
const exactBuilders = `
	make    : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir
	make    : --assume-old -W --what-if
	gmake   : --eval -E SHELL= .SHELLFLAGS= MAKEFLAGS= MAKEFILES= MAKE= -f --file --makefile -C --directory -I --include-dir
	gmake   : --assume-old -W --what-if
	cmake   : -E -P* -C* -D* -G* -T* --toolchain --preset -X* --graphviz* --trace-redirect* --profiling-output*
	cmake   : --install-prefix* --
	cmake   : --install --open -H* --find-package
	cpack   : --config -G -D* -B
	ctest   : -S* -SP* --build-and-test --overwrite -D* -M* -T* --script --output-log -O* --test-dir --build-command
	ninja   : -f -C -t -w -d
	meson   : --native-file --cross-file -D* --wipe --vsenv
	meson   : --wrapper --gdb-path --destdir -C
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
	gradle  : -P* --write-locks --project-cache-dir --project-prop* --system-prop*
	gradlew : -I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home --include-build -D*
	gradlew : -P* --write-locks --project-cache-dir --project-prop* --system-prop*
	mvn     : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	mvn     : --define* -ep -emp --encrypt* exec:* antrun:* groovy:* dependency:get* dependency:copy* deploy:* release:* archetype:*
	mvnw    : -f --file -s --settings -gs --global-settings -t --toolchains -gt -D* -l --log-file -b --builder
	mvnw    : --define* -ep -emp --encrypt* exec:* antrun:* groovy:* dependency:get* dependency:copy* deploy:* release:* archetype:*
	ant     : -f -file -buildfile -lib -D* -propertyfile -logger -listener -inputhandler -find -s -logfile -l
	sbt     : -D* -J* -sbt-jar* --java-home* -java-home* --sbt-dir* -S* --addPluginSbtFile*
`

// exactCompilers are those of compilers and what comes with them.
const exactCompilers = `
	go            : -ldflags -gcflags -asmflags -gccgoflags -toolexec -exec -vettool -overlay -modfile -C -pkgdir -pgo -compiler
	go            : -installsuffix -workfile >-o >-coverprofile >-cpuprofile >-memprofile >-blockprofile >-mutexprofile >-trace
	go            : >-outputdir -fuzzcachedir -test.* -args
	go test       : -o
	go env        : -w -u
	go mod        : -replace*
	go work       : -replace*
	gofmt         : -cpuprofile
	golangci-lint : --config -c --path-prefix --out-format --output* --cpu-profile-path --mem-profile-path --trace-path --fix
	gcc           : --* -wrapper -fplugin* -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler -Xpreprocessor -include -imacros
	gcc           : -iprefix -isysroot -dumpdir -save-temps* -fdump* -aux-info -M* -T -idirafter --sysroot -flto* -fuse-ld* -x
	gcc           : -pass-exit-codes -fcompare-debug* -run* -fprofile* -ftest-coverage -fmodule-mapper* --param >-o
	gcc           : -iplugindir* -plugin* -fopt-info* -time* -no-integrated-cpp -foffload* -dumpbase* -fmodule* -fauto-profile*
	gcc           : -fdiagnostics-format* -fcallgraph-info* -fsave-optimization-record*
	clang         : --* -wrapper -fplugin* -fpass-plugin* -Xclang -load -specs* -B* -Xlinker -Wl,* -Wp,* -Wa,* -Xassembler
	clang         : -Xpreprocessor -include -imacros -ld-path* --ld-path -fuse-ld* --config -M* -save-temps* -ccc-* --driver-mode*
	clang         : --gcc-toolchain* -gcc-toolchain -isysroot --sysroot -T -x -ivfsoverlay -serialize-diagnostics -fprofile*
	clang         : -dependency-file -fcrash-diagnostics* --rsp-quoting* >-o
	clang         : -mllvm -cc1* -fmodule* -working-directory* -resource-dir* -foptimization-record* -fsave-optimization-record*
	clang         : -index-store-path* -fproc-stat-report* -plugin* -add-plugin* -gen-* -fapinotes*
	ld            : -plugin* -T --script* -dynamic-linker* --rpath* >-o
	ar            : --plugin
	clang-tidy    : --load* --export-fixes* --config-file* --vfsoverlay* -p
	clang-format  : --style=file:* -style=file:*
	cppcheck      : --addon* --plist-output* --cppcheck-build-dir* --rule-file* --suppress-xml* --output-file*
	swift         : -Xswiftc -Xcc -Xlinker --package-path --scratch-path --build-path
	cabal         : --with-* --project-file* --config-file*
	stack         : --stack-yaml --docker* --exec --with-*
	rustc         : -C* --codegen -Z* --sysroot --extern --emit --out-dir -L* -l* --print* --remap-path-prefix --error-format
	rustc         : --json + >-o
	cargo         : --config -Z* --manifest-path --target-dir --registry --index --git --path -C --lockfile-path --artifact-dir
	cargo         : --out-dir --root --message-format --timings* +
	cargo         : --build-dir
	cargo watch   : -x -s --exec --shell
	cargo nextest : --config-file --archive-file --tool-config-file
	cargo fmt     : --config-path
	dotnet        : -p* --property* /p* -logger* --logger* --settings -s --test-adapter-path --source --configfile -l* --diag*
	dotnet        : --collect --blame* -o --output --additionalprobingpath --additional-deps --fx-version --roll-forward
	dotnet        : --depsfile --runtimeconfig
	protoc        : --plugin* -I* --proto_path* --descriptor_set_in* --dependency_out* -o*
	buf           : --config --template --path --modcacherw -o --output
`

// exactScripts are those of Python, Ruby and PHP.
const exactScripts = `
	pip3     : -r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f --find-links -t --target
	pip3     : --prefix --root --python --config-settings -C --global-option --install-option --src --proxy --cert
	pip3     : --break-system-packages >--dest >-d >--wheel-dir >-w
	pip3     : --client-cert --trusted-host --log --cache-dir --report --only-final
	uv       : --index --default-index --index-url -i --extra-index-url --find-links -f --python -p --config-file --directory
	uv       : --project --target --prefix --with --with-editable --with-requirements -r --env-file --script --build-option
	uv       : --config-setting -C --editable -e --allow-insecure-host --cache-dir --overrides
	poetry   : --directory -C --project -P --source
	pytest   : -p --rootdir -c --config-file --confcutdir -o --override-ini --basetemp --pdbcls --log-file --junitxml
	pytest   : --junit-xml --tx --rsyncdir --pyargs --import-mode --cache-clear --debug --pastebin --resultlog
	mypy     : --config-file --python-executable --cache-dir --install-types --custom-typeshed-dir --custom-typing-module
	mypy     : --junit-xml --shadow-file --any-exprs-report --cobertura-xml-report --html-report --linecount-report
	mypy     : --linecoverage-report --lineprecision-report --txt-report --xml-report --xslt-html-report --xslt-txt-report
	isort    : --settings-path --sp --settings-file --config-root
	tox      : -c --conf --override -x --workdir --root
	nox      : -f --noxfile
	pytest   : --cov-config >--html >--json-report-file >--alluredir >--benchmark-json
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
	tar    : --exclude-from -X --owner-map --group-map -M --multi-volume
	zstd   : --filelist -D --output-dir-flat --output-dir-mirror --trace
	xz     : --files* --files0*
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
	docker build     : --network --volume -v --add-host
	docker buildx    : -f --file --build-context --secret --ssh -o --output --cache-from --cache-to --metadata-file --iidfile --allow
	docker buildx    : --builder --network --add-host
	docker stack     : -c --compose-file
	podman           : --remote -r --root --runroot --runtime --conmon --hooks-dir --module --storage-opt --url --identity --connection
	docker compose   : -f --file --env-file --project-directory --profile
	docker-compose   : -f --file --env-file --project-directory --profile
	terraform        : -chdir* -var-file* -backend-config* -plugin-dir* -state* -out* -from-module* -replace* -target*
	terraform        : -generate-config-out* -test-directory*
	kubectl          : --kubeconfig --context --server -s --token --as --as-group --cluster --user --raw --cache-dir --profile-output
	kubectl          : --overrides --plugin*
	kubectl          : --client-certificate --client-key --certificate-authority --insecure-skip-tls-verify --username --password
	kubectl          : --tls-server-name --from-file --from-env-file --patch-file
	helm             : --post-renderer* --kubeconfig --kube-context --kube-apiserver --set-file --repo --ca-file --cert-file
	helm             : --key-file --keyring --registry-config --repository-config
	helm             : --output-dir --destination -d
	aws              : --endpoint-url --profile --cli-input-json --cli-input-yaml --ca-bundle --no-verify-ssl
	gh               : --hostname -F --input --body-file --notes-file -R --repo --clone
	gh repo          : --
	ssh              : -A -X -Y -O
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
	mysql            : --defaults* --init-command --plugin-dir --pager* --tee --ssl-*
	sqlite3          : -cmd -init
	apt-get          : -o -c --option --config-file
	apt              : -o -c --option --config-file
	ansible-playbook : -i --inventory* -e --extra-vars --module-path -M --vault* --private-key --ssh-common-args --ssh-extra-args
	ansible-playbook : --sftp-extra-args --scp-extra-args --become-method --connection -c
	ansible          : -i --inventory* -e --extra-vars --module-path -M -m --module-name -a --args --vault* --private-key
	ansible          : --ssh-common-args --ssh-extra-args --connection -c --playbook-dir
	pre-commit       : -c --config --hook-dir --repo -C
	nix              : --expr --impure -f --file --option --override-input --extra-* --store --builders --include -I --command -c
`

// exactInterpreters are those of interpreters, before the script: what they load besides it. A rule for all of an
// interpreter covers code of any kind, -e and -c too.
const exactInterpreters = `
	node    : -r --require --import --loader --experimental-loader --env-file* --openssl-config --icu-data-dir -C --conditions
	node    : --experimental-config-file --experimental-default-config-file --snapshot-blob --build-snapshot* --cpu-prof*
	node    : --heap-prof* --heapsnapshot* --diagnostic-dir --redirect-warnings --report-* --trace-event-file-pattern
	node    : --test-reporter* --inspect* --run --localstorage-file --allow-* --tls-keylog
	tsx     : -r --require --import --loader --tsconfig
	ts-node : -r --require --import --loader -P --project --compiler -C --cwd --cwd-mode
	python3 : -X
	ruby    : -r -I -C -S -x -i
	perl    : -M -m -I -x -S -d -i -pi* -ni*
	php     : -d -c -z -S -t -B -R -F -E --define --php-ini --server
	lua     : -l
	java    : -javaagent* -agentpath* -agentlib* -XX:On* -XX:Flags* -XX:HeapDumpPath* -Xlog* -Xbootclasspath* --patch-module* -Djava.*
	java    : --upgrade-module-path*
	javac   : -processor* -J* -Xplugin* --plugin*
	kotlinc : -Xplugin* -P -script
	scalac  : -Xplugin* -P*
`

// exactDocuments are those of programs that make documents.
const exactDocuments = `
	pandoc   : --filter -F -L --lua-filter -d --defaults --pdf-engine* --extract-media --data-dir --template --metadata-file
	pandoc   : --include* -H -B -A >-o >--output
	latexmk  : -e -r -pdflatex* -latex* -shell-escape* -outdir* -output-directory*
	pdflatex : -shell-escape* -enable-write18* -output-directory*
	xelatex  : -shell-escape* -enable-write18* -output-directory*
	lualatex : -shell-escape* -enable-write18* -output-directory*
	openssl  : -engine -config -provider* -writerand >-out
	dot      : >-o
`

// exactPublishing are subcommands that install a program for the whole account, or publish under its name.
const exactPublishing = `
	cargo install   : *
	cargo uninstall : *
	cargo binstall  : *
	cargo publish   : *
	cargo yank      : *
	cargo owner     : *
	cargo login     : *
	npm publish     : *
	npm unpublish   : *
	npm deprecate   : *
	npm owner       : *
	npm access      : *
	npm token       : *
	yarn publish    : *
	yarn npm        : publish tag login
	pnpm publish    : *
	bun publish     : *
	deno publish    : *
	lerna publish   : *
	go install      : *
	gem push        : *
	gem yank        : *
	gem owner       : *
	gem signin      : *
	poetry publish  : *
	uv publish      : *
	pdm publish     : *
	hatch publish   : *
	flit publish    : *
	maturin publish : *
	maturin upload  : *
	twine upload    : *
	mvn             : deploy
	gradle          : publish*
	gradlew         : publish*
	dotnet nuget    : push delete
	dart pub        : publish
	flutter pub     : publish
	helm push       : *
	mix             : hex.*
	vsce publish    : *
`
