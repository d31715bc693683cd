package program

import (
	"regexp"
	"strings"
	"sync"
)

// plainSettings are the keys of git's configuration that only change how output looks, each with the values that it
// may get by -c. A key that names a program or a file, or that has git look into submodules, is not among them.
//
//	bool   true, false and the other spellings; nothing at all stands for true
//	word   letters, digits and dashes
//	number digits
//	look   a colour or a list of words: letters, digits, #, dashes, commas, blanks
//	sort   the key of a list
//	a|b    one of these
const plainSettings = `
	color.*                    : look
	column.*                   : look
	core.quotepath             : bool
	core.abbrev                : word
	core.pager                 : cat|
	core.fsmonitor             : false|
	core.filemode              : bool
	core.precomposeunicode     : bool
	core.whitespace            : look
	core.commentchar           : look
	core.optionallocks         : bool
	diff.algorithm             : word
	diff.autorefreshindex      : false
	diff.colormoved            : word
	diff.colormovedws          : look
	diff.context               : number
	diff.interhunkcontext      : number
	diff.dirstat               : look
	diff.indentheuristic       : bool
	diff.mnemonicprefix        : bool
	diff.noprefix              : bool
	diff.relative              : bool
	diff.renamelimit           : number
	diff.renames               : word
	diff.statgraphwidth        : number
	diff.statnamewidth         : number
	diff.submodule             : short
	diff.suppressblankempty    : bool
	diff.wserrorhighlight      : look
	log.abbrevcommit           : bool
	log.date                   : word
	log.decorate               : word
	log.mailmap                : bool
	log.showroot               : bool
	log.showsignature          : false
	log.graphcolors            : look
	format.pretty              : oneline|short|medium|full|fuller|reference|raw
	status.branch              : bool
	status.short               : bool
	status.showstash           : bool
	status.aheadbehind         : bool
	status.relativepaths       : bool
	status.renames             : word
	status.renamelimit         : number
	status.showuntrackedfiles  : no|normal|all
	status.submodulesummary    : false
	advice.*                   : bool
	blame.blankboundary        : bool
	blame.coloring             : word
	blame.date                 : word
	blame.markignoredlines     : bool
	blame.markunblamablelines  : bool
	blame.showemail            : bool
	blame.showroot             : bool
	branch.sort                : sort
	tag.sort                   : sort
	grep.column                : bool
	grep.extendedregexp        : bool
	grep.fullname              : bool
	grep.linenumber            : bool
	grep.patterntype           : word
	grep.threads               : number
	i18n.logoutputencoding     : word
	i18n.commitencoding        : word
	merge.conflictstyle        : word
	pager.*                    : false
	user.name                  : any
	user.email                 : any
	versionsort.suffix         : word
	gc.auto                    : number
	maintenance.auto           : bool
`

// settingValues are the kinds of values.
var settingValues = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"bool":   regexp.MustCompile(`^(?i:true|false|yes|no|on|off|1|0|)$`),
		"word":   regexp.MustCompile(`^[A-Za-z0-9-]*$`),
		"number": regexp.MustCompile(`^[0-9]*$`),
		"look":   regexp.MustCompile(`^[A-Za-z0-9#, -]*$`),
		"sort":   regexp.MustCompile(`^-?(refname|version:refname|v:refname|(author|committer|creator|tagger)date)$`),
		"any":    regexp.MustCompile(``),
	}
})

var plainKeys = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for key, value := range perLine(plainSettings) {
		out[key] = value
	}
	return out
})

// plainSetting reports whether key=value is a setting of git that runs nothing and names no file.
func plainSetting(setting string) bool {
	key, value, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	allowed, ok := plainKeys()[key]
	if section, name, dotted := strings.Cut(key, "."); !ok && dotted && strings.Trim(name,
		"abcdefghijklmnopqrstuvwxyz0123456789-.") == "" {
		allowed, ok = plainKeys()[section+".*"]
	}
	if !ok {
		return false
	}
	if kind := settingValues()[allowed]; kind != nil {
		return kind.MatchString(value)
	}
	return contains(strings.Split(allowed, "|"), value)
}
