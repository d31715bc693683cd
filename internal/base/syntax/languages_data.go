package syntax

func functional() []*Language {
	return []*Language{
		{
			names: "haskell hs", files: ".hs .lhs", comments: []string{"--"},
			quotes: []quote{{start: "{-", end: "-}", kind: Comment, lines: true, nests: true}, double, character}, upper: true,
			keywords: "case class data default deriving do else family forall foreign if import in infix infixl infixr " +
				"instance let module newtype of pattern qualified then type where", constants: "True False",
		},
		{
			names: "elixir ex exs iex", files: ".ex .exs", comments: hashes, quotes: []quote{
				tripleDouble, tripleSingle,
				longDouble, longSingle,
			}, upper: true, letters: "?",
			keywords: "after alias and case catch cond def defdelegate defexception defguard defimpl defmacro defmodule defp " +
				"defprotocol defstruct do else end fn for if import in not or quote raise receive require rescue super throw " +
				"try unless unquote use when with", constants: "true false nil",
		},
		{
			names: "erlang erl", files: ".erl .hrl", comments: []string{"%"}, quotes: []quote{double, single}, upper: true,
			keywords: "after and andalso begin case catch cond div end fun if let maybe not of or orelse receive rem try " +
				"when xor", constants: "true false undefined ok error",
		},
		{
			names: "ocaml ml fsharp f# fs reason", files: ".ml .mli .fs .fsx", comments: slashes,
			quotes: []quote{
				{start: "(*", end: "*)", kind: Comment, lines: true, nests: true},
				tripleDouble, longDouble,
				character,
			}, upper: true,
			keywords: "and as assert async begin class constraint do done downto else end exception external for fun " +
				"function functor if in include inherit initializer lazy let match member method module mutable namespace new " +
				"nonrec object of open or override private rec return sig struct then to try type use val virtual when while " +
				"with yield",
			types: "bool char float int list option string unit", constants: "true false",
		},
		{
			names: "clojure clj cljs edn lisp scheme elisp emacs-lisp racket",
			files: ".clj .cljs .cljc .edn .lisp .scm .el .rkt", comments: []string{";"},
			quotes: []quote{{start: "#|", end: "|#", kind: Comment, lines: true}, longDouble}, letters: "-?!*+<>=/.:",
			keywords: "def defn defn- defmacro defmulti defmethod defprotocol defrecord deftype defun defvar defconst define " +
				"lambda fn let let* letrec if when cond case do loop recur for doseq ns require import use begin set! setq " +
				"quote progn", constants: "true false nil t",
		},
		{
			names: "nix", files: ".nix", comments: hashes, quotes: []quote{slashStar, {
				start: "''", end: "''", kind: String,
				lines: true,
			}, longDouble}, letters: "-", keys: "=", dollar: true,
			keywords: "assert else if in inherit let or rec then with import", constants: "true false null",
		},
		{
			names: "terraform tf hcl tfvars", files: ".tf .hcl .tfvars", comments: []string{"#", "//"},
			quotes: []quote{slashStar, double}, documents: true, letters: "-", keys: "=",
			keywords: "data for for_each if in locals module moved output provider resource terraform variable dynamic",
			types:    "string number bool list map set object any", constants: "true false null",
		},
	}
}

func data() []*Language {
	return []*Language{
		{
			names: "json json5 jsonc jsonl ndjson", files: ".json .json5 .jsonc .jsonl .ndjson .webmanifest .ipynb",
			comments: slashes, quotes: []quote{slashStar, double, single}, keys: ":",
			constants: "true false null",
		},
		{
			names: "yaml yml", files: ".yaml .yml", comments: hashes,
			quotes: []quote{longDouble, {start: "'", end: "'", kind: String, lines: true}}, keys: ":", letters: "-./",
			constants: "true false null yes no on off",
		},
		{
			names: "toml", files: ".toml cargo.lock poetry.lock uv.lock", comments: hashes, quotes: []quote{
				tripleDouble,
				tripleSingle, double,
				{start: "'", end: "'", kind: String},
			}, keys: "=", letters: "-.", sections: true,
			constants: "true false inf nan",
		},
		{
			names: "ini cfg conf properties dotenv env editorconfig",
			files: ".ini .cfg .conf .properties .env .editorconfig .gitconfig .desktop .service", comments: []string{"#", ";"},
			quotes: []quote{double, single}, keys: "=", letters: "-.",
			sections: true, dollar: true, constants: "true false yes no on off",
		},
		{
			names: "css scss sass less", files: ".css .scss .sass .less", comments: slashes, quotes: []quote{
				slashStar, double,
				single,
			}, letters: "-", keys: ":", dollar: true, constants: "important inherit initial unset none auto",
		},
		{
			names: "html xml xhtml svg vue svelte astro htm rss plist jsp",
			files: ".html .htm .xml .xhtml .svg .vue .svelte .astro .plist .xsl .xsd .csproj", whole: markup,
		},
		{names: "diff patch udiff", files: ".diff .patch", whole: patch},
		{names: "markdown md mdx", files: ".md .markdown .mdx", whole: prose},
	}
}
