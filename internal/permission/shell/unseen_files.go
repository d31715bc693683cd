package shell

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// hidesFiles reports whether a program gets the names of files that it reads or copies from elsewhere, so that a deny
// rule on files cannot be applied to them.
func hidesFiles(c *call) bool {
	if takesNamesFromFile(c) || among(c.name, "sed", "gsed") && !c.use.Class.ReadOnly() && !c.use.InPlace {
		return true
	}
	if c.use.Class.ReadOnly() && c.use.Class != permission.ClassRead && c.use.Class != permission.ClassSearch ||
		!copiesFiles.has(c.name) && !readsOperands(c) {
		return false
	}
	for i, w := range c.words[1:] {
		if w.unknown && !w.listed && !w.stays(c, i+1) && (c.name != "curl" && c.name != "wget" || sendsFile(c.words[i], w)) {
			return true
		}
	}
	return false
}

// sendsFile reports whether a word of curl or wget, behind the word before, may name a file that is sent.
func sendsFile(before, w word) bool {
	return strings.ContainsRune(w.text, '@') || among(w.text, "-T*", "--upload-file*", "--post-file*", "--body-file*") ||
		among(before.text, "-T", "-K", "-d", "-F", "-E", "--upload-file", "--config", "--data*", "--form*", "--json",
			"--cert", "--key", "--post-file", "--body-file", "-i", "--input-file")
}

// readsOperands reports whether a command that is not a copier of files reads the ones that it names.
func readsOperands(c *call) bool {
	switch {
	case c.use.Class == permission.ClassRead, c.use.Class == permission.ClassSearch:
		return true
	case among(c.name, "docker", "podman", "kubectl"):
		return c.arg(1) == "cp"
	case c.name == "aws":
		return c.arg(1) == "s3"
	case c.name == "git":
		return among(c.arg(1), "add", "stage", "mv", "hash-object", "apply", "am", "update-index")
	}
	return false
}

// copiesFiles are programs that write, pack or send the contents of files that they name.
var copiesFiles = set{
	"cp", "mv", "ln", "install", "dd", "tee", "split", "csplit", "sed", "gsed", "perl", "ed", "ex", "scp", "sftp",
	"rsync", "rclone", "curl", "wget", "openssl", "gpg", "gpg2", "age", "sops",
	"gzip", "pigz", "bzip2", "xz", "zstd", "lz4", "lzma", "lzop", "brotli", "compress", "zip", "tar", "gtar", "bsdtar",
	"cpio", "pax", "7z", "7za", "7zz", "rar", "ar", "shar", "uuencode",
	"ffmpeg", "convert", "magick", "pandoc", "gsutil", "sort", "tac", "pr", "awk", "gawk", "mawk", "jq", "yq", "xsltproc",
	"m4", "patch",
}

// takesNamesFromFile reports whether a program reads the files that a list in another file or its input names.
func takesNamesFromFile(c *call) bool {
	flags, ok := nameLists[c.name]
	if !ok {
		return false
	}
	for i, w := range c.words[1:] {
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case i == 0 && strings.HasSuffix(c.name, "tar") && !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "T"):
			return true // tar cTf list x
		case slices.ContainsFunc(flags, func(f string) bool {
			if strings.HasPrefix(f, "--") {
				return len(name) > 3 && strings.HasPrefix(f, name)
			}
			if f == "@" {
				return strings.HasPrefix(w.text, f)
			}
			return strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, f)
		}):
			return true
		}
	}
	return len(flags) == 0
}

// nameLists are the options behind which programs take a list of names: letters, long options, and @ for @list. Without
// any the program always reads a list.
var nameLists = map[string][]string{
	"sort": {"--files0-from"}, "wc": {"--files0-from"}, "tar": {"T", "--files-from"}, "gtar": {"T", "--files-from"},
	"bsdtar": {"T", "--files-from"}, "rsync": {"--files-from", "--include-from"},
	"zip": {"@", "-@"}, "xz": {"--files", "--files0"}, "lzma": {"--files", "--files0"}, "zstd": {"--filelist"},
	"7z": {"@", "i"}, "7za": {"@", "i"}, "7zz": {"@", "i"}, "rar": {"@"},
	"cpio": {"o", "p", "--create", "--pass-through"}, "exiftool": {"-@"}, "pax": nil, "ctags": {"L"}, "etags": {"L"},
	"cscope": {"i"}, "git": {"--pathspec-from-file", "--stdin-paths"},
}
