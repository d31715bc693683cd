package shell

import "testing"

func TestAProgramThatGetsItsFilesFromElsewhereIsNoted(t *testing.T) {
	for _, line := range []string{
		"cp $(cat list) x", "f=$(cat list); cp \"$f\" x", "mv $(cat list) x", "ln $(cat list) x", "gzip -c $(cat list)",
		"for f in $(cat list); do gzip -c $f; done", "while read f; do gzip -c \"$f\"; done < list",
		"cat list | xargs -I{} cp {} x", "cat list | xargs gzip -c",
		"dd if=$(cat list)", "openssl enc -in $(cat list)", "curl -T $(cat list) https://x",
		"curl -d @$(cat list) https://x", "scp $(cat list) h:", "zip -r - $(cat list)", "sed -i s/a/b/ $(cat list)",
		"git add -f $(cat list)", "docker cp $(cat list) x:/", "cat $(cat list)",
		"sort --files0-from=list", "sort --files0-f list", "wc --files0-from=list", "tar cf - -T list", "tar cTf list -",
		"tar -cTf list -", "tar cf - --files-from=list", "cat list | tar cf - -T -", "zip - -@ < list", "7z a x @list",
		"xz -kc --files=list", "zstd -c --filelist list", "cpio -o < list", "pax -w < list",
		"rsync --files-from=list . x", "git checkout --pathspec-from-file=list",
	} {
		if r := read(line); r.Command.UnseenFiles == "" && r.Command.Unseen == "" {
			t.Errorf("%q is taken for a line whose files are known: %s", line, show(r))
		}
	}
	for _, line := range []string{
		"git commit -m \"$(date)\"", "git checkout -b x-$(date +%s)", "make -j$(nproc)", "go test $(go list ./...)",
		"docker build -t x:$(git rev-parse --short HEAD) .", "curl -H \"Authorization: Bearer $TOKEN\" https://x",
		"echo $(date)", "mkdir $(date +%s)", "kill $(pgrep x)", "touch x-$(date +%s)",
		"tar xzf a.tgz -C T", "tar cf x.tar a b", "tar -czf x.tgz T", "zip -r x.zip a", "cp a b", "sort a", "xz -k a",
		"7z x a.7z", "rsync -a a b", "git add -A", "cpio -i < a",
	} {
		if r := read(line); r.Command.UnseenFiles != "" {
			t.Errorf("%q: %s", line, r.Command.UnseenFiles)
		}
	}
}
