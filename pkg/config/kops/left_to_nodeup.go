package kops

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// leftToNodeup are fields of kOps on which nodeup acts and the agent does not. Those that concern a
// node's network come first. kOps sets none of them by itself.
// https://github.com/kubernetes/kops/tree/master/nodeup/pkg/model
var leftToNodeup = [...]string{
	"kubelet.resolvConf", "kubelet.nodeIP", "kubelet.hostnameOverride",
	"masterKubelet.resolvConf", "masterKubelet.nodeIP", "masterKubelet.hostnameOverride", // v1alpha2
	"controlPlaneKubelet.resolvConf", "controlPlaneKubelet.nodeIP", "controlPlaneKubelet.hostnameOverride",
	"kubeProxy.ipvsScheduler", "kubeProxy.ipvsExcludeCIDRs", "kubeProxy.ipvsExcludeCidrs", // v1alpha2
	"kubeProxy.ipvsMinSyncPeriod",
	"kubeProxy.ipvsSyncPeriod",
	"kubeProxy.conntrackMaxPerCore", "kubeProxy.conntrackMin", "kubeProxy.bindAddress",
	"egressProxy", "networking.egressProxy", "ntp.managed", "packages", "updatePolicy", "volumeMounts",
	"containerd.registryMirrors", "containerd.configOverride", "containerd.configAdditions", "containerd.nvidiaGPU",
	"containerd.gvisor",
}

// LeftOut returns one note that names the fields of kOps' documents that concern a node and that
// are left to nodeup. It returns false if there are none. It ignores other documents.
func LeftOut(docs []*decode.Doc) (document.Diagnostic, bool) {
	var found []string
	var first *decode.Doc
	for _, field := range leftToNodeup {
		for _, doc := range docs {
			if doc.Parse(); !From(doc.Path) || doc.Root == nil {
				continue
			}
			if at := positionOf(doc.Root.Get("spec"), strings.Split(field, ".")); at.Line > 0 {
				found = append(found, fmt.Sprintf("%s (%s)", field, doc.Origin(at)))
				first = cmp.Or(first, doc)
				break
			}
		}
	}
	if len(found) == 0 {
		return document.Diagnostic{}, false
	}
	return document.Diagnostic{Severity: document.SeverityNote, ID: problem.FieldNodeup,
		Origin:  document.Origin{File: first.Path},
		Summary: "nodeup acts on these fields, and the agent does not: " + strings.Join(found, ", "),
		Hint:    "where nodeup no longer runs, who makes the node sets them"}, true
}

// positionOf returns where a field is below v, or zero if it is missing or has no value.
func positionOf(v *document.Value, path []string) document.Pos {
	if v == nil {
		return document.Pos{}
	}
	i := v.Index(path[0])
	switch {
	case i < 0 || v.Entries[i].Value.Kind == document.KindNull:
		return document.Pos{}
	case len(path) > 1:
		return positionOf(v.Entries[i].Value, path[1:])
	}
	return v.Entries[i].Pos
}
