package extras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
)

// Sysctls reads kOps' form: a list of "key=value".
func Sysctls(to *[]Sysctl) decode.Field {
	return decode.Field{Name: "sysctlParameters", Set: func(v decode.Reading) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(s Sysctl) string { return s.Key })
		one := func(item decode.Reading) {
			s, ok := sysctl(item)
			_, twice := seen[s.Key]
			later := twice && item.Doc.Dialect.Lenient
			if !ok || !later && !item.Unique(seen, s.Key) {
				return
			}
			item.Origins[fmt.Sprintf("%s[%s]", v.Path, s.Key)] = s.Origin
			if later {
				(*to)[slices.IndexFunc(*to, func(x Sysctl) bool { return x.Key == s.Key })] = s
				return
			}
			put(s)
		}
		if v.Doc.Dialect.Lenient {
			one = kops.EachLine(one)
		}
		v.List(one)
	}}
}

func sysctl(v decode.Reading) (Sysctl, bool) {
	const expected = `a kernel parameter such as "net.ipv4.ip_forward=1"`
	switch {
	case v.Kind == document.KindMap && len(v.Entries) == 1 && v.Entries[0].Value.Kind <= document.KindString:
		v.Bad(expected, fmt.Sprintf("write it with an equals sign: %s=%s", document.Clip(v.Entries[0].Key),
			document.Clip(v.Entries[0].Value.Text)))
		return Sysctl{}, false
	case v.Kind != document.KindString:
		v.Bad(expected, "")
		return Sysctl{}, false
	}
	key, val, has := strings.Cut(v.Text, "=")
	key, val = strings.TrimSpace(key), strings.TrimSpace(val)
	if v.Doc.Dialect.Lenient {
		key = strings.TrimPrefix(key, "-") // of systemd-sysctl; whether the key could be set is reported in any case
	}
	if !has || val == "" || !decode.Printable(strings.ReplaceAll(val, "\t", " ")) {
		v.Bad(expected, "")
		return Sysctl{}, false
	}
	canonical, hint := decode.SysctlKey(key)
	if canonical == "" {
		v.Bad(expected, hint)
		return Sysctl{}, false
	}
	refused := checkSysctl(v, canonical, val)
	return Sysctl{Key: canonical, Value: val, Origin: v.Origin(), Refused: refused}, true
}

// Sysctl is one kernel parameter that the user wants.
type Sysctl struct {
	// Key in the dotted form of sysctl(8): a dot inside a name is a slash
	// ("net.ipv4.conf.eth0/100.rp_filter").
	Key    string          `json:"key"`
	Value  string          `json:"value"`
	Origin document.Origin `json:"origin"`
	// Refused is why the key fails on a node. The documents should not have it.
	Refused string `json:"refused,omitempty"`
}
