package drift

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// maxSought bounds for how many keys one pass looks for the other program.
const maxSought = 16

// NameWriters looks for the programs that write the keys which this pass repaired, unless it was a
// key's first repair. It reads all processes, which happens only a few times in a conflict, until
// its key is given up.
func (d *Judge) NameWriters(ctx context.Context, h *host.Host) {
	if d == nil {
		return
	}
	sought := map[graph.Key]string{}
	for _, key := range d.found.Keys() {
		if note := d.found.Note(key); (len(note.Recent) > 1 || note.Trials > 0) && len(sought) < maxSought {
			sought[key] = tasks.CommandName(key)
		}
	}
	if len(sought) == 0 {
		return
	}
	found := h.Live.Writers(ctx, slices.Sorted(maps.Values(sought)))
	for key, thing := range sought {
		note, who := d.found.Note(key), found[thing]
		if who.Text == "" {
			who.Text = supposed(key, h)
		}
		switch {
		case who.Text != "":
			note.Writer, note.By = who.Text, who.WriterID
		case d.gone(note):
			note.Writer, note.By = note.Writer+" (ended since)", host.WriterID{}
		}
	}
}

// supposed returns which program usually writes such a key on a host like this one, if no running
// process names it.
func supposed(key graph.Key, h *host.Host) string {
	switch key.Kind() {
	case tasks.KindSysctl:
		lines, _ := facts.LateSysctls(h.Live.Files) // such a file may be newer than the facts
		for _, line := range lines {
			if line.Key == key.Name() {
				return fmt.Sprintf("probably the program that loads %s, whose line %d sets it to %s (systemd-sysctl, "+
					"`sysctl --system`)", line.File, line.Line, line.Value)
			}
		}
		if file := tunedSets(h.Live.Files, key.Name()); file != "" {
			return "probably tuned, whose profile " + file + " sets it"
		}
		if slices.Contains(ofKubeProxy, key.Name()) {
			return "probably kube-proxy, which sets it"
		}
	case tasks.KindFile:
		for _, n := range network.All() {
			if n.Conf.File != "" && n.Conf.File == path.Base(key.Name()) && n.Conf.Writer == network.WriterDaemonSet {
				return "probably the DaemonSet of " + n.Name + ", whose file it is"
			}
		}
	case tasks.KindLink, tasks.KindAddr:
		link, _, _ := strings.Cut(key.Name(), "/")
		for _, l := range h.Live.Facts.Links {
			if l.Name == link && l.Manager != "" {
				return "probably " + l.Manager + ", which manages " + link
			}
		}
	}
	return ""
}

// ofKubeProxy are the sysctls that kube-proxy sets (pkg/proxy/ipvs,
// cmd/kube-proxy/app/conntrack.go, https://github.com/kubernetes/kubernetes).
var ofKubeProxy = []string{
	"net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_tcp_timeout_established",
	"net.netfilter.nf_conntrack_tcp_timeout_close_wait",
	"net.ipv4.conf.all.route_localnet", "net.ipv4.vs.conntrack", "net.ipv4.vs.conn_reuse_mode",
	"net.ipv4.vs.expire_nodest_conn", "net.ipv4.vs.expire_quiescent_template",
}
