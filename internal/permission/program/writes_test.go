package program

import (
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// TestFilesThatOptionsAndScriptsNameCount: guards and deny rules on files see what a program writes beside its
// operands.
func TestFilesThatOptionsAndScriptsNameCount(t *testing.T) {
	for line, want := range map[string]string{
		"sed -n 'w out' f": "out", "sed 's/l/x/w out' f": "out", "sed '/a/,/b/{p;W out' f": "out",
		"sed -n '/a/w out' f": "out", "sed 's,a,b,gpw out' f": "out",
		"sed --in-place=hooks/* s/a/b/ f": "hooks/x", "awk '{print > \"out\"}' f": "out",
		"awk 'BEGIN{printf(\"a\") >> \"out\"}'": "out",
		"split f out/x":                         "out/xaa", "csplit -f out/x f 2": "out/x00",
		"csplit --prefix out/x f 2":  "out/x00",
		"git bundle create out HEAD": "out", "git shortlog --output=out": "out", "git bugreport -o out": "out",
		"git diagnose -o out":                     "out",
		"git fast-export --export-marks=out HEAD": "out", "git checkout-index --prefix=out/ f": "out/",
		"git --work-tree=out checkout -- f": "out",
		"git --work-tree out restore f":     "out", "git mv f out": "out", "git -C sub mv f /x/out": "/x/out",
	} {
		u := Analyze(words(line), env)
		if u.Class.ReadOnly() || !slices.Contains(u.Writes, want) {
			t.Errorf("%s: class %s, writes %q, want %q among them", line, u.Class, u.Writes, want)
		}
	}
	for line, want := range map[string]string{
		"sed 'r in' f": "in", "sed -n '1R in' f": "in", "awk 'BEGIN{while((getline l < \"in\")>0) print l}'": "in",
	} {
		if u := Analyze(words(line), env); u.Class.ReadOnly() || !slices.Contains(u.Reads, want) {
			t.Errorf("%s: class %s, reads %q, want %q among them", line, u.Class, u.Reads, want)
		}
	}
	if u := Analyze(words("git init --template=x sub"), env); u.Lands == nil || u.Lands.Target != "sub/.git" ||
		!u.Lands.Deep {
		t.Errorf("git init --template: %+v, want the template's files below sub/.git", u.Lands)
	}
}

func TestMovingToADeviceDestroys(t *testing.T) {
	for line, want := range map[string]permission.Class{
		"mv f /dev/null": permission.ClassDestructive, "mv -t /dev f": permission.ClassWrite,
		"mv f //dev/./null": permission.ClassDestructive, "mv f g": permission.ClassWrite,
	} {
		if u := Analyze(words(line), env); u.Class != want {
			t.Errorf("%s: class %s, want %s", line, u.Class, want)
		}
	}
}

// TestOptionsThatRunOrNameOthersNeedExactText: no rule with a pattern covers these.
func TestOptionsThatRunOrNameOthersNeedExactText(t *testing.T) {
	for program, lines := range map[string][]string{
		"interpreters": {
			"node -r x y.js", "node --require=x y.js", "node --import x y.js", "node --loader x y.js", "node --env-file=x y.js",
			"node --inspect-brk=0.0.0.0 y.js", "nodejs -r x y.js", "node --cpu-prof-dir=x y.js",
			"tsx --import x y.ts", "ts-node -r x y.ts", "ruby -r x y.rb", "ruby -rx y.rb", "ruby -I x y.rb", "perl -Mx y.pl",
			"perl -I x y.pl", "perl -pi -e s/a/b/ f", "php -d x=y f.php", "php -S localhost:1",
			"lua -l x f.lua", "java -javaagent:x y", "java -XX:OnError=x y", "javac -processor x y.java", "javac -J-x y.java",
			"kotlinc -Xplugin=x y.kt",
		},
		"patch": {"patch f x", "patch -p1 -i x f", "patch -i x", "patch -d x f"},
		"publishing": {
			"go install x.y/z@latest", "go install ./cmd/x", "go run x.y/z@v1 a", "go run -race x.y/z@v1", "gem push x.gem",
			"gem yank x", "poetry publish", "poetry publish --build", "uv publish", "uv publish dist/x", "twine upload dist/x",
			"hatch publish", "flit publish",
			"pdm publish", "maturin upload x", "yarn publish", "yarn npm publish", "pnpm publish", "bun publish", "mvn deploy",
			"mvn -q clean deploy", "gradle publish", "./gradlew publishToMavenCentral", "dotnet nuget push x",
			"mix hex.publish", "dart pub publish",
		},
		"addresses": {
			"pip install https://x/y.whl", "pip3 install git+https://x/y", "pip install x@https://y/z",
			"pip download https://x/y", "uv pip install https://x/y", "uv add git+https://x/y",
			"uv tool install git+ssh://git@x/y", "pipx install https://x/y", "poetry add git+https://x/y",
			"npm install https://x/y.tgz",
			"npm i git+ssh://git@x/y", "npm i git@x.y:z", "npm exec https://x/y", "yarn add https://x/y",
			"pnpm add https://x/y", "bun add git@x:y", "cargo add x --git https://x/y", "gem install x --source https://y",
		},
		"go": {
			"go test -o x", "go test -c -o=x", "go env -w GOFLAGS=-x", "go mod edit -replace=a=b",
			"go build -toolexec ./x ./...",
		},
		"cmake": {
			"cmake --build ..", "cmake --build /x", "cmake ..", "cmake -S/x -B y", "cmake -S .. -B y",
			"cmake --build=../x", "cmake --install build", "cmake --open build", "cpack --config x",
		},
		"cargo": {
			"cargo install x", "cargo install --path .", "cargo -v install x", "cargo uninstall x", "cargo publish",
			"cargo yank x", "cargo owner --add x", "cargo watch -x x", "cargo build --build-dir x",
		},
		"mvn": {
			"mvn exec:exec", "mvn exec:java", "mvn org.x:y:1:z", "mvn -q x:y:z test", "mvn antrun:run",
			"mvn --define x=y test", "mvn dependency:get",
		},
		"gradle": {"gradle --project-prop a=b test", "gradle --system-prop a=b test", "./gradlew --init-script x"},
		"gcc": {
			"gcc -iplugindir=x a.c", "g++ -iplugindir=x a.c", "gcc -fopt-info-vec=x a.c", "gcc -time=x a.c",
			"gcc -dumpbase x a.c", "gcc -plugin x a.c", "gcc -fauto-profile=x a.c", "gcc -no-integrated-cpp a.c",
			"clang -mllvm x a.c", "clang -cc1 a.c", "clang -foptimization-record-file=x a.c", "clang -plugin x a.c",
			"ld -plugin x a.o", "ld -T x a.o", "clang-tidy --load=x", "cppcheck --addon=x",
		},
		"npm": {"npm publish", "npm token create", "npm owner add x", "npm i --strict-ssl=false", "npm i --proxy x"},
		"javascript": {
			"jest --env=x", "eslint --init", "eslint --inspect-config x", "webpack --config x",
			"vite build --config x", "rollup -c x", "rollup -p x y", "esbuild x --servedir=y", "nodemon --config x",
			"vitest --typecheck.checker=x",
		},
		"python": {
			"mypy --html-report x", "mypy --shadow-file x y", "isort --settings-path x", "tox -c x", "nox -f x",
			"pytest --cov-config=x", "pip install --break-system-packages x",
		},
		"archives": {"tar -X x cf y z", "tar --exclude-from=x cf y z", "tar xMf x", "zstd --filelist x", "xz --files=x"},
		"services": {
			"podman build -f x .", "podman --root x build .", "podman --runtime x build .", "docker buildx build -f x .",
			"docker build --network host .", "docker stack deploy -c x y", "terraform plan -generate-config-out=x",
			"kubectl apply -f https://x/y", "kubectl --client-certificate x apply -f y",
			"kubectl create secret generic x --from-file=y", "helm template x --output-dir y", "gh repo clone x -- -c y",
			"ssh -A h", "ssh -X h",
			"mysql --defaults-file=x", "sqlite3 -init x y", "apt-get install -o x=y z",
		},
		"documents": {
			"pandoc --filter x y", "pandoc -F x y", "pandoc --pdf-engine=x y", "pdflatex -shell-escape x",
			"latexmk -e x", "openssl req -config x", "openssl dgst -engine x",
		},
	} {
		for _, line := range lines {
			if u := Analyze(words(line), env); !u.Literal || u.Class.ReadOnly() {
				t.Errorf("%s: %s is covered by a pattern (class %s)", program, line, u.Class)
			}
		}
	}
	for _, line := range []string{
		"node app.js -r x", "node app.js --inspect", "node --test", "python3 manage.py -X x", "python3 x.py",
		"ruby x.rb -I y", "java -jar x.jar -Djava.x=1", "java -cp x Main", "cmake --build build", "cmake -S . -B build",
		"cmake .",
		"cargo build", "cargo test install", "cargo add x", "mvn test", "mvn spotless:apply", "mvn -pl a:b test",
		"gcc -Iinclude -o a a.c", "npm install x", "npm run publish", "kubectl apply -f x.yml", "podman build .", "ssh h ls",
		"mypy x", "go mod tidy",
		"go run .", "go run ./cmd/x a", "go get x.y/z@latest", "pip install x", "poetry install", "poetry build", "uv sync",
		"uv build", "gem install x", "gem build x.gemspec", "npm install x@1", "npm i @a/b", "mvn package", "gradle build",
		"./gradlew test", "mix deps.get",
		"esbuild x --bundle", "webpack", "vite build", "pandoc a.md -o b.html", "openssl rand 3",
	} {
		if u := Analyze(words(line), env); u.Literal {
			t.Errorf("%s needs an exact rule (%s)", line, u.Reason)
		}
	}
}
