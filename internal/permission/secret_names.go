package permission

import (
	"slices"
	"strings"
)

// The names of files and folders that are likely to hold secrets, plain (see plainName).
const (
	secretFiles = ".envrc .netrc _netrc .git-credentials .pgpass .my.cnf .npmrc .pypirc .htpasswd .boto .s3cfg .dockercfg .vault-token .history .node_repl_history " +
		"credentials credentials.json client_secret.json service-account.json secrets.yml secrets.yaml secrets.json secrets.toml master.key kubeconfig " +
		"identity shadow gshadow wallet.dat key4.db logins.json cookies.sqlite"
	secretKeys    = "id_rsa id_ed25519 id_ecdsa id_dsa"
	secretEndings = ".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .tfvars .tfstate .ovpn _history _rsa _ed25519"
	secretFolders = ".ssh .gnupg .aws .azure .kube .password-store"
	envTemplates  = "example sample template dist defaults schema"
)

var (
	endings   = strings.Fields(secretEndings)
	folders   = strings.Fields(secretFolders)
	templates = strings.Fields(envTemplates)
)

// isSecret says why a file of this plain name is likely to hold secrets, "" when it is not.
func isSecret(name string) string {
	switch {
	case name == ".env" || strings.HasPrefix(name, ".env.") || strings.HasSuffix(name, ".env"):
		if slices.ContainsFunc(templates, func(word string) bool { return strings.Contains(name, word) }) {
			return ""
		}
		return "it usually holds secrets"
	case name == "id_rsa" || name == "id_ed25519" || name == "id_ecdsa" || name == "id_dsa":
		return "it is a private key"
	case secretNames()[name]:
		return "it usually holds secrets"
	}
	for _, ext := range endings {
		if strings.HasSuffix(name, ext) && name != ext {
			return "it may be a private key or another secret"
		}
	}
	return ""
}

// secretFolder reports whether folders with this plain name hold keys or credentials.
func secretFolder(name string) bool { return slices.Contains(folders, name) }

// SecretPath returns the name that makes a guard ask before the file at this slash-separated path is read: the file's own
// or that of a folder above it; "" if no guard asks. Template reports a name that only resembles one (.env.example).
func SecretPath(rel string) (name string, folder, template bool) {
	for rel != "" {
		var part string
		part, rel, _ = strings.Cut(rel, "/")
		plain := plainName(part)
		switch {
		case rel == "" && isSecret(plain) != "":
			return part, false, false
		case rel == "":
			return "", false, strings.HasPrefix(plain, ".env.") || strings.HasSuffix(plain, ".env")
		case secretFolder(plain):
			return part, true, false
		}
	}
	return "", false, false
}

// SecretPatterns returns the names of files and folders that a guard asks about, as patterns with * and ?. Names like .env
// are separate: env excludes templates (.env.example) as far as a few patterns can, and also uses [a] and [!a].
func SecretPatterns() (files, env, folders []string) {
	files = append(files, ".env")
	files = append(files, strings.Fields(secretKeys+" "+secretFiles)...)
	for ext := range strings.FieldsSeq(secretEndings + " .env") {
		files = append(files, "*"+ext)
	}
	files = slices.DeleteFunc(files, func(name string) bool { // a pattern covers it
		return slices.ContainsFunc(endings, func(ext string) bool { return name != ext && strings.HasSuffix(name, ext) && name[0] != '*' })
	})
	return files, unlike(".env.", templates), strings.Fields(secretFolders)
}

// unlike are patterns for the names that begin with a prefix, and do not go on with the first letters of any of the words.
func unlike(prefix string, words []string) []string {
	const letters = 4 // so many of each word count
	out := []string{prefix + "?", prefix + "??", prefix + "???"}
	stems := map[string]string{"": ""} // the letters that may follow
	for _, word := range words {
		for i := range letters {
			if stem := word[:i]; !strings.Contains(stems[stem], word[i:i+1]) {
				stems[stem] += word[i : i+1]
			}
		}
	}
	for stem, next := range stems {
		out = append(out, prefix+stem+"[!"+next+"]*")
	}
	slices.Sort(out)
	return out
}
