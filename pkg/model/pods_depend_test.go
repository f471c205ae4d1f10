package model

import (
	"testing"

	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestWhatPodsStandOn(t *testing.T) {
	net := network.Named("bridge")
	for name, c := range map[string]struct {
		task tasks.Task
		want bool
	}{
		"what the network requires":       {tasks.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}, true},
		"in another form":                 {tasks.Sysctl{Key: "net/bridge/bridge-nf-call-iptables", Value: "1"}, true},
		"what a document prefers":         {tasks.Sysctl{Key: "net.ipv4.conf.all.accept_redirects", Value: "0"}, false},
		"a node's default":                {tasks.Sysctl{Key: "net.core.somaxconn", Value: "32768"}, false},
		"the network's module":            {tasks.Module{Name: "br_netfilter"}, true},
		"another module":                  {tasks.Module{Name: "dummy"}, false},
		"its link":                        {tasks.Link{Name: "cbr0"}, true},
		"the conf":                        {tasks.File{Path: "/etc/cni/net.d/" + net.Conf.File}, true},
		"a person's file":                 {tasks.File{Path: "/etc/motd"}, false},
		"the programs":                    {tasks.Archive{}, true},
		"a unit that is somebody's hook":  {tasks.UnitState{Name: "x.service"}, false},
		"what accepts packets in forward": {tasks.ForwardAccept{}, true},
	} {
		if got := PodsDependOn(net, c.task); got != c.want {
			t.Errorf("%s: PodsDependOn returns %t, want %v", name, got, c.want)
		}
	}
}
