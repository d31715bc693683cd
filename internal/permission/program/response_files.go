package program

import (
	"slices"
	"strings"
)

// responseFiles are the programs that replace a word @file with the words in file: binutils, compilers, and
// others (GCC manual, "@file"; javac(1); 7-Zip, "List file"). Those words are not checked.
var responseFiles = set(
	strings.Fields(
		`nm objdump readelf size strings ar as ld ld.bfd ld.gold ld.lld lld ranlib strip objcopy addr2line c++filt
	elfedit gprof windres dlltool windmc gcc g++ cc c++ gcov cpp gfortran gdc gnatmake clang clang++ clang-cl clang-format clang-tidy llc opt llvm-ar
	llvm-nm llvm-objdump llvm-readelf llvm-readobj llvm-strings llvm-size llvm-strip llvm-objcopy llvm-cov llvm-profdata java javac javadoc jar jlink
	jpackage jdeps kotlinc kotlin scalac groovyc rustc rustdoc ghc swift swiftc protoc tsc csc mcs vbc msbuild dotnet dmd ldc2 7z 7za 7zz rar unrar
	gs convert identify magick mogrify exiftool pylint argbash cppcheck`))

// responds notes the words that name response files.
func (c *call) responds(name string) {
	if !slices.ContainsFunc(c.args, func(w Word) bool { return strings.HasPrefix(w.Text, "@") }) ||
		!responseFiles.has(name) {
		return
	}
	for _, w := range c.args {
		if file, ok := strings.CutPrefix(w.Text, "@"); ok && !w.Glob {
			c.exact(name + " takes more words from the file " + file)
			c.Reads = slices.DeleteFunc(c.Reads, func(s string) bool { return s == w.Text })
			if file != "" {
				c.Reads = append(c.Reads, file)
			}
		}
	}
}
