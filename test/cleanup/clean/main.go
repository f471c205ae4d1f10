// Command clean lists what a network left on this host, one key in a line. With -apply it also
// removes it, as a switch of networks does. Tests run it in nodes and virtual machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "clean:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	apply := flag.Bool("apply", false, "take it away")
	pods := flag.String("pods", "", "the pods' addresses on all nodes, with commas")
	keep := flag.String("keep", "", "keys of the next network, with commas")
	flag.Parse()
	n, known := network.Find(flag.Arg(0))
	if proxy := network.KubeProxy(); flag.Arg(0) == proxy.Name {
		n, known = proxy, true
	}
	if !known {
		return fmt.Errorf("no network is called %q", flag.Arg(0))
	}
	var scope cleanup.Scope
	for _, text := range strings.FieldsFunc(*pods, comma) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		scope.PodCIDRs = append(scope.PodCIDRs, prefix)
	}
	for _, key := range strings.FieldsFunc(*keep, comma) {
		scope.Retain = append(scope.Retain, graph.Key(key))
	}
	task := tasks.Cleanup{Network: n.Name, Residue: cleanup.Selection{Residue: n.Residue, Scope: scope}}
	if !*apply {
		v, err := host.OpenView(ctx, host.Options{Root: "/"})
		if err != nil {
			return err
		}
		change, err := task.Plan(ctx, v.View())
		if change != nil {
			for _, item := range change.Items {
				fmt.Println(item.Key)
			}
		}
		return errors.Join(err, v.Close())
	}
	log, err := zap.NewDevelopment()
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Options{Root: "/", Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return task.Apply(ctx, h, nil)
}

func comma(r rune) bool { return r == ',' }
