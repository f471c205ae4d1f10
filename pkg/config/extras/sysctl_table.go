package extras

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/problem"
)

// sysctlTable is what `sysctl -a` lists on Linux 6.18 with the modules of networks loaded, and what
// kernels from 4.19 on had besides. It has one key on each line, and * in place of a link. "text"
// marks a value that is no list of whole numbers. "none" marks a key for which the kernel acts at
// each write and keeps no value.
//
//go:embed sysctls.txt
var sysctlTable string

// linkKeys matches the directories that have one directory for each link.
var linkKeys = lazyregexp.New(`^(net\.(?:ipv4|ipv6)\.(?:conf|neigh)|net\.mpls\.conf)\.[^.]+\.`)

var wholeNumbers = lazyregexp.New(`^-?(0[xX][0-9a-fA-F]+|[0-9]+)([ \t,]+-?(0[xX][0-9a-fA-F]+|[0-9]+))*$`)

// misspeltLetters is how many letters may differ for a name to count as a typing mistake. A name
// that differs more may belong to another kernel.
const misspeltLetters = 2

// checkSysctl refuses a value that no kernel accepts. It returns why the key fails on a node. Where
// documents are checked, it also refuses a key that is a typing mistake. On a node such a key fails
// by itself.
func checkSysctl(v decode.Reading, key, val string) (refused string) {
	if !v.Checks && strings.Trim(val, "0123456789 \t") == "" {
		return "" // a node with nothing to do does not search the table
	}
	plain := linkKeys().ReplaceAllString(key, "$1.*.")
	near, least := "", misspeltLetters+1
	for line := range strings.Lines(sysctlTable) {
		known, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if known == plain {
			wrong := document.Diagnostic{ID: problem.SysctlUnknown}
			switch {
			case kind == "none":
				wrong.Summary = key + " has no value that could be kept: the kernel acts at each write"
				wrong.Hint = "remove it, and write it by hand when that is needed"
			case kind == "" && !wholeNumbers().MatchString(val):
				wrong.Summary = fmt.Sprintf("%s is set to %q, and the kernel takes numbers", key, document.Clip(val))
				wrong.Expected = "a whole number, such as 1 for yes and 0 for no"
			default:
				return ""
			}
			v.Checked(wrong)
			return wrong.Summary + ": " + cmp.Or(wrong.Hint, "write "+wrong.Expected)
		}
		if !v.Checks {
			continue
		}
		if off := document.Distance(plain, known); off < least &&
			len(plain)-strings.LastIndexByte(plain, '.') > 2*misspeltLetters {
			near, least = known, off
		}
	}
	if near != "" {
		if m := linkKeys().FindString(key); m != "" {
			near = m + near[strings.LastIndexByte(near, '.')+1:]
		}
		v.Error(document.Diagnostic{ID: problem.SysctlUnknown,
			Summary: "no kernel has the parameter " + key, Hint: fmt.Sprintf("did you mean %q?", near)})
	}
	return ""
}
