package syntax

import "slices"

// all is the table of languages.
func all() []*Language {
	return slices.Concat(cFamily(), classes(), scripts(), builds(), functional(), data())
}

var slashes = []string{"//"}

func cFamily() []*Language {
	return []*Language{
		{
			names: "go golang", files: ".go", comments: slashes, quotes: []quote{slashStar, double, backtick, character},
			keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface " +
				"map package range return select struct switch type var",
			types: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune " +
				"string uint uint8 uint16 uint32 uint64 uintptr",
			constants: "true false nil iota", functions: "append cap clear close complex copy delete imag len make max min " +
				"new panic print println real recover",
		},
		{
			names: "c h objective-c objc", files: ".c .h .m", comments: slashes, quotes: []quote{slashStar, double, character},
			hash: true,
			keywords: "auto break case const continue default do else enum extern for goto if inline register restrict " +
				"return sizeof static struct switch typedef union volatile while _Atomic _Static_assert",
			types: "void char short int long float double signed unsigned bool size_t ssize_t int8_t int16_t int32_t " +
				"int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t FILE",
			constants: "NULL true false",
		},
		{
			names: "cpp c++ cc cxx hpp cuda", files: ".cpp .cc .cxx .hpp .hh .hxx .ipp .cu", comments: slashes,
			quotes: []quote{slashStar, double, character}, hash: true, upper: true,
			keywords: "alignas alignof auto break case catch class co_await co_return co_yield concept const consteval " +
				"constexpr constinit continue decltype default delete do else enum explicit export extern final for friend goto " +
				"if inline mutable namespace new noexcept operator override private protected public requires return sizeof " +
				"static static_assert static_cast dynamic_cast reinterpret_cast const_cast struct switch template this throw " +
				"try typedef typeid typename union using virtual volatile while",
			types: "void char short int long float double signed unsigned bool size_t wchar_t char8_t char16_t char32_t " +
				"int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t string vector map",
			constants: "NULL nullptr true false",
		},
		{
			names: "rust", files: ".rs", comments: slashes, quotes: []quote{nested, {
				start: `r#"`, end: `"#`, kind: String,
				lines: true,
			}, longDouble, character}, bang: true, upper: true,
			keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop macro " +
				"match mod move mut pub ref return self static struct super trait type union unsafe use where while yield",
			types:     "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Self",
			constants: "true false None Some Ok Err",
		},
	}
}

// classes are the languages around classes.
func classes() []*Language {
	return []*Language{
		{
			names: "java", files: ".java", comments: slashes, quotes: []quote{slashStar, tripleDouble, double, character},
			upper: true,
			keywords: "abstract assert break case catch class const continue default do else enum extends final finally for " +
				"goto if implements import instanceof interface native new non-sealed package permits private protected public " +
				"record return sealed static strictfp super switch synchronized this throw throws transient try var volatile " +
				"while yield",
			types: "boolean byte char double float int long short void", constants: "true false null",
		},
		{
			names: "kotlin kt kts", files: ".kt .kts", comments: slashes, quotes: []quote{
				nested, tripleDouble, double,
				character,
			}, upper: true,
			keywords: "abstract actual annotation as break by catch class companion const constructor continue crossinline " +
				"data do dynamic else enum expect external final finally for fun get if import in infix init inline inner " +
				"interface internal is lateinit noinline object open operator out override package private protected public " +
				"reified return sealed set super suspend tailrec this throw try typealias typeof val value var vararg when " +
				"where while",
			constants: "true false null",
		},
		{
			names: "csharp c# cs", files: ".cs", comments: slashes, quotes: []quote{
				slashStar, tripleDouble,
				{start: `@"`, end: `"`, kind: String, lines: true},
				double, character,
			}, hash: true, upper: true,
			keywords: "abstract as async await base break case catch checked class const continue default delegate do else " +
				"enum event explicit extern finally fixed for foreach from get global goto if implicit in init interface " +
				"internal is join let lock namespace new operator orderby out override params partial private protected public " +
				"readonly record ref required return sealed select set sizeof stackalloc static struct switch this throw try " +
				"typeof unchecked unsafe using virtual volatile when where while with yield",
			types: "bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong " +
				"ushort var void", constants: "true false null",
		},
		{
			names: "javascript js jsx mjs cjs node typescript ts tsx mts cts", files: ".js .jsx .mjs .cjs .ts .tsx .mts .cts",
			comments: slashes, quotes: []quote{slashStar, double, single, template}, letters: "$", upper: true,
			keywords: "abstract as asserts async await break case catch class const continue debugger declare default delete " +
				"do else enum export extends finally for from function get if implements import in infer instanceof interface " +
				"is keyof let module namespace new of override private protected public readonly return satisfies set static " +
				"super switch this throw try type typeof using var void while with yield",
			types:     "any bigint boolean never number object string symbol unknown",
			constants: "true false null undefined NaN Infinity",
		},
		{
			names: "swift", files: ".swift", comments: slashes, quotes: []quote{nested, tripleDouble, double}, hash: true,
			upper: true,
			keywords: "actor any as associatedtype async await break case catch class continue convenience default defer " +
				"deinit do dynamic else enum extension fallthrough fileprivate final for func get guard if import in indirect " +
				"infix init inout internal is lazy let mutating nonisolated open operator optional override postfix " +
				"precedencegroup prefix private protocol public repeat required rethrows return self set some static struct " +
				"subscript super switch throw throws try typealias unowned var weak where while willSet didSet",
			constants: "true false nil",
		},
		{
			names: "dart", files: ".dart", comments: slashes, quotes: []quote{
				slashStar, tripleDouble, tripleSingle, double,
				single,
			}, upper: true,
			keywords: "abstract as assert async await break case catch class const continue covariant default deferred do " +
				"dynamic else enum export extends extension external factory final finally for get if implements import in " +
				"interface is late library mixin new on operator part required rethrow return sealed set show static super " +
				"switch sync this throw try typedef var void when while with yield",
			types: "bool double int num", constants: "true false null",
		},
		{
			names: "scala sbt", files: ".scala .sbt .sc", comments: slashes, quotes: []quote{
				nested, tripleDouble, double,
				character,
			}, upper: true,
			keywords: "abstract case catch class def derives do else enum export extends extension final finally for given " +
				"if implicit import inline lazy match new object open opaque override package private protected return sealed " +
				"super then this throw trait transparent try type using val var while with yield",
			constants: "true false null",
		},
		{
			names: "zig", files: ".zig", comments: slashes, quotes: []quote{double, character},
			keywords: "addrspace align allowzero and anyframe anytype asm async await break catch comptime const continue " +
				"defer else enum errdefer error export extern fn for if inline linksection noalias noinline nosuspend opaque or " +
				"orelse packed pub resume return struct suspend switch test threadlocal try union unreachable usingnamespace " +
				"var volatile while",
			types: "bool f16 f32 f64 f128 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize void type anyerror noreturn " +
				"comptime_int comptime_float", constants: "true false null undefined",
		},
		{
			names: "php", files: ".php .phtml", comments: []string{"//", "#"}, quotes: []quote{
				slashStar, longDouble,
				longSingle,
			}, dollar: true, upper: true,
			keywords: "abstract and array as break callable case catch class clone const continue declare default die do " +
				"echo else elseif empty enum exit extends final finally fn for foreach function global goto if implements " +
				"include include_once instanceof insteadof interface isset list match namespace new or print private protected " +
				"public readonly require require_once return self static switch throw trait try unset use var while xor yield",
			types:     "bool float int iterable mixed never object string void",
			constants: "true false null TRUE FALSE NULL",
		},
		{
			names: "solidity sol", files: ".sol", comments: slashes, quotes: []quote{slashStar, double, single}, upper: true,
			keywords: "abstract as assembly break calldata constant constructor continue contract delete do else emit enum " +
				"error event external fallback for function if immutable import indexed interface internal is library mapping " +
				"memory modifier new override payable pragma private public pure receive return returns revert storage struct " +
				"this try catch type unchecked using view virtual while",
			types: "address bool bytes bytes32 int int256 string uint uint8 uint256", constants: "true false",
		},
	}
}

var hashes = []string{"#"}

func scripts() []*Language {
	return []*Language{
		{
			names: "python py python3 pycon ipython", files: ".py .pyi .pyw", comments: hashes, quotes: []quote{
				tripleDouble,
				tripleSingle, double, single,
			}, upper: true,
			keywords: "and as assert async await break case class continue def del elif else except finally for from global " +
				"if import in is lambda match nonlocal not or pass raise return try type while with yield",
			types:     "bool bytes bytearray complex dict float frozenset int list object set str tuple",
			constants: "True False None self cls NotImplemented", functions: "abs all any enumerate filter getattr hasattr " +
				"isinstance len map max min open print range repr reversed round setattr sorted sum super zip",
		},
		{
			names: "bash sh shell zsh ksh console shell-session shellsession terminal fish",
			files: ".sh .bash .zsh .fish .envrc .bashrc .zshrc .profile pkgbuild", comments: hashes,
			quotes: []quote{longDouble, rawSingle}, dollar: true, documents: true, letters: "-", keys: "=",
			keywords: "if then else elif fi case esac for while until do done in function select time return break continue " +
				"local export readonly declare unset shift set source alias trap exit begin end",
			functions: "cd echo printf test read eval exec sudo cat grep sed awk find xargs git go make npm npx yarn pnpm " +
				"pip python python3 node cargo docker kubectl curl wget ls rm cp mv mkdir chmod chown tar ssh scp apt apt-get brew",
			constants: "true false",
		},
		{
			names: "powershell ps1 pwsh", files: ".ps1 .psm1 .psd1", comments: hashes,
			quotes: []quote{{start: "<#", end: "#>", kind: Comment, lines: true}, {
				start: `@"`, end: `"@`, kind: String,
				lines: true,
			}, longDouble, rawSingle}, dollar: true, fold: true, letters: "-",
			keywords: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for " +
				"foreach from function if in param process return switch throw trap try until using while",
		},
		{
			names: "ruby rb irb", files: ".rb .rake .gemspec .ru gemfile rakefile", comments: hashes,
			quotes:    []quote{{start: "=begin", end: "=end", kind: Comment, lines: true}, longDouble, longSingle},
			documents: true, upper: true, letters: "?",
			keywords: "alias and begin break case class def defined? do else elsif end ensure for if in module next not or " +
				"redo rescue retry return self super then undef unless until when while yield require require_relative " +
				"attr_accessor attr_reader attr_writer include extend private protected public raise",
			constants: "true false nil",
		},
		{
			names: "perl pl", files: ".pl .pm", comments: hashes, quotes: []quote{longDouble, longSingle}, dollar: true,
			documents: true,
			keywords: "my our local sub if elsif else unless while until for foreach do last next redo return use no " +
				"require package and or not eq ne lt gt le ge cmp print printf say die warn push pop shift unshift",
		},
		{
			names: "lua luau", files: ".lua", comments: []string{},
			quotes: []quote{
				{start: "--[[", end: "]]", kind: Comment, lines: true},
				{start: "--", end: "\n", kind: Comment},
				{start: "[[", end: "]]", kind: String, lines: true},
				double, single,
			},
			keywords:  "and break do else elseif end for function goto if in local not or repeat return then until while",
			constants: "true false nil self",
		},
		{
			names: "r", files: ".r .rmd", comments: hashes, quotes: []quote{
				longDouble, longSingle,
				{start: "`", end: "`", kind: Variable},
			}, letters: ".",
			keywords:  "if else repeat while function for next break in return library require",
			constants: "TRUE FALSE NULL NA NaN Inf",
		},
		{
			names: "julia jl", files: ".jl", comments: hashes,
			quotes: []quote{
				{start: "#=", end: "=#", kind: Comment, lines: true, nests: true},
				tripleDouble, longDouble,
				character,
			}, upper: true, letters: "!",
			keywords: "abstract baremodule begin break catch const continue do else elseif end export finally for function " +
				"global if import in isa let local macro module mutable primitive quote return struct try type using where while",
			constants: "true false nothing missing",
		},
	}
}

// builds are the languages of interfaces, queries, builds and editors.
func builds() []*Language {
	return []*Language{
		{
			names: "protobuf proto", files: ".proto", comments: slashes, quotes: []quote{slashStar, double, single}, upper: true,
			keywords: "syntax package import option message enum service rpc returns stream oneof map repeated optional " +
				"required reserved extend extensions to max public weak",
			types: "bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string" +
				" uint32 uint64",
			constants: "true false",
		},
		{
			names: "graphql gql", files: ".graphql .gql", comments: []string{"#"}, quotes: []quote{tripleDouble, double},
			dollar: true, upper: true,
			keywords: "query mutation subscription fragment on type interface union enum input scalar schema extend " +
				"implements directive repeatable", constants: "true false null",
		},
		{
			names: "sql mysql postgresql postgres pgsql plpgsql sqlite tsql", files: ".sql", comments: []string{"--", "#"},
			quotes: []quote{
				slashStar,
				{start: "'", end: "'", kind: String, lines: true},
				{start: `"`, end: `"`, kind: Variable},
				{start: "`", end: "`", kind: Variable},
			}, fold: true,
			keywords: "add all alter analyze and as asc begin between by cascade case check column commit constraint create " +
				"cross database default delete desc distinct do drop else end except exists explain for foreign from full " +
				"function grant group having if ilike in index inner insert intersect into is join key lateral left like limit " +
				"materialized natural not null offset on or order outer over partition primary procedure recursive references " +
				"replace returning returns revoke right rollback row rows schema select set table temporary then to transaction " +
				"trigger truncate union unique update using vacuum values view when where window with",
			types: "bigint bigserial binary bit blob boolean bytea char date datetime decimal double float int integer " +
				"interval json jsonb numeric real serial smallint text time timestamp timestamptz tinyint uuid varchar",
			constants: "true false",
		},
		{
			names: "makefile make mk", files: "makefile gnumakefile .mk", comments: hashes, quotes: []quote{double, single},
			dollar: true, letters: "-.", keys: ":",
			keywords: "ifeq ifneq ifdef ifndef else endif include define endef export override unexport vpath",
		},
		{
			names: "dockerfile docker containerfile", files: "dockerfile containerfile .dockerfile", comments: hashes,
			quotes: []quote{double, single}, dollar: true, fold: true,
			keywords: "from as run cmd label maintainer expose env add copy entrypoint volume user workdir arg onbuild " +
				"stopsignal healthcheck shell",
		},
		{
			names: "cmake", files: "cmakelists.txt .cmake", comments: hashes,
			quotes: []quote{{start: "#[[", end: "]]", kind: Comment, lines: true}, longDouble}, dollar: true, fold: true,
			keywords: "if elseif else endif foreach endforeach while endwhile function endfunction macro endmacro return set " +
				"option include project add_executable add_library target_link_libraries find_package",
		},
		{
			names: "vim viml vimscript", files: ".vim .vimrc", quotes: []quote{single, double},
			keywords: "let if else elseif endif for endfor while endwhile function endfunction return call execute set " +
				"autocmd augroup command map nmap imap vmap nnoremap inoremap vnoremap try catch endtry finally",
		},
	}
}
