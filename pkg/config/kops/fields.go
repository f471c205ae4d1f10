package kops

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// nestedIgnored are fields of kOps' spec.networking that do not concern a node.
var nestedIgnored = [...]string{"networkID", "additionalNetworkCIDRs", "subnets", "tagSubnets", "egressProxy",
	"isolateControlPlane"}

// Cloud reads the later form of kOps' cloudProvider: a mapping with one key, the cloud's name.
func Cloud(to *string) decode.Field {
	return decode.Field{Name: "cloudProvider", Set: func(v decode.Reading) {
		if v.Kind != document.KindMap || len(v.Entries) != 1 {
			v.WrongKind("a mapping of one cloud such as aws: {}")
			return
		}
		*to = v.Entries[0].Key
	}}
}

// EachLine calls one for each line of an entry that sets a sysctl. nodeup joins the entries of
// kOps' list with line ends, and writes them unchanged into a file of sysctl.d.
// https://github.com/kubernetes/kops/blob/master/nodeup/pkg/model/sysctls.go
func EachLine(one decode.Set) decode.Set {
	return func(v decode.Reading) {
		if v.Kind != document.KindString && v.Kind != document.KindNull { // for Go a null is ""
			one(v)
			return
		}
		n := 0
		for text := range strings.SplitSeq(v.Text, "\n") {
			line := *v.Value
			line.Text, line.Pos = strings.TrimSpace(text), v.Doc.LinePos(v.Value, n)
			if n++; !passedOver(v.At(&line, v.Path)) {
				one(v.At(&line, v.Path))
			}
		}
	}
}

// passedOver reports whether a line of kOps sets nothing here: an empty line, a comment (nodeup's
// own list begins so), or a pattern of names, about which it warns. If two lines set one key, the
// later one counts.
func passedOver(v decode.Reading) bool {
	key, _, _ := strings.Cut(v.Text, "=")
	switch {
	case v.Text == "" || v.Text[0] == '#' || v.Text[0] == ';':
		return true
	case !strings.ContainsAny(key, "*?[]"):
		return false
	}
	v.Warn(document.Diagnostic{Hint: "name the interface",
		Summary: fmt.Sprintf("%s is %s, and patterns are not supported: it is not set", v.Path, v.Show())})
	return true
}

// HookName returns nodeup's name for a hook without a name. number is the hook's index, from 0,
// among the hooks of the document that are for the node's role. Since kOps 1.22 nodeup gets only
// those. Up to 1.21 it counted all hooks of the document.
// https://github.com/kubernetes/kops/blob/master/nodeup/pkg/model/hooks.go
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go (filterHooks)
func HookName(number int, inGroup bool) string {
	name := fmt.Sprintf("kops-hook-%d", number)
	if inGroup {
		name += "-ig"
	}
	return name
}

// NodePorts returns the field in which kOps has the range of ports that the agent's own documents
// have in spec.serviceNodePortRange.
func NodePorts(to *values.PortRange) decode.Field {
	return decode.Into("kubeAPIServer", func() []decode.Field {
		return []decode.Field{said("spec.serviceNodePortRange", decode.Ports("serviceNodePortRange", to))}
	})
}

// Mirror reads kOps' spec.assets, which says where to download from. It sets own if the agent
// cannot download from there, as from gs:// and azureblob://. nodeup then installs the plugins.
// https://kops.sigs.k8s.io/operations/asset-repository/
func Mirror(to *string, own *bool, valid func(string) string) decode.Field {
	read := said("spec.assetsMirror", decode.Text("fileRepository", to, valid)).Set
	return decode.Into("assets", func() []decode.Field {
		return []decode.Field{{Name: "fileRepository", Set: func(v decode.Reading) {
			if v.Kind != document.KindString || valid(v.Text) == "" {
				read(v)
				return
			}
			*own = true
			v.Warn(document.Diagnostic{Summary: fmt.Sprintf("%s is %s, and nothing is fetched from there: "+
				"the CNI plugins are left as they are", v.Path, v.Show()),
				Expected: "a URL of https, http or s3, without a password"})
		}}}
	})
}

// Nested returns the fields of the cluster's ranges, which are under spec.networking from v1alpha3
// on. It adds the fields beside them that do not concern a node.
func Nested(ranges []decode.Field) []decode.Field {
	for i, f := range ranges {
		ranges[i] = said("spec."+f.Name, f).Unlisted()
	}
	for _, name := range nestedIgnored {
		ranges = append(ranges, decode.Unread(name).Unlisted())
	}
	return ranges
}

// said also records the origin of a field under the path that the agent's own documents have for
// it, because callers ask for the origin by that path.
func said(path string, f decode.Field) decode.Field {
	set := f.Set
	f.Set = func(v decode.Reading) {
		v.Origins[path] = v.Origins[v.Path]
		set(v)
	}
	return f
}
