package verify

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/tasks"
)

// criUnit returns the unit of the program that serves CRI.
func criUnit(rt host.RuntimeFacts) string {
	if unit := facts.RuntimeUnit(rt.Name); unit != "docker.service" {
		return unit
	}
	return "cri-docker.service" // that of its package
}

// lookAtRuntime returns what to do about a runtime that does not answer.
func lookAtRuntime(rt host.RuntimeFacts) string {
	if os.Geteuid() != 0 {
		return "run it as root, whom alone the runtime answers"
	}
	unit := criUnit(rt)
	return fmt.Sprintf("check that it runs and serves CRI: `systemctl status %s`, `journalctl -u %s`", unit, unit)
}

// silentRuntime is the result for a runtime that does not answer over CRI.
func silentRuntime(ctx context.Context, v host.View) Result {
	rt, unit := v.Facts.Runtime, criUnit(v.Facts.Runtime)
	seen := rt.Name + " does not answer over CRI"
	switch state, err := v.Units.Unit(ctx, unit); {
	case err != nil:
	case state.DoesNotStayUp():
		return failed(fmt.Sprintf("%s: %s does not stay up: its last run ended with %s", seen, unit, state.Result),
			lookAtRuntime(rt))
	case rt.Socket == "" && state.Active == "active" && os.Geteuid() == 0: // others may not see it
		return failed(fmt.Sprintf("%s: %s runs, and its socket was removed", seen, unit),
			"restart it: pods keep running")
	}
	return waiting(seen, lookAtRuntime(rt))
}

// crioLoads is how long CRI-O may take until it reports the network of a new conf: it asks the
// plugins every half second.
// https://github.com/cri-o/cri-o/blob/v1.36.1/internal/config/cnimgr/cnimgr.go (pollUntilReady)
const crioLoads = 5 * time.Second

// runtime compares the network that the container runtime reports (CRI's Status) with the conf in
// force.
func (c *checker) runtime(ctx context.Context) Result {
	rt := c.view.Facts.Runtime
	embedded := facts.EmbeddedRuntime(c.view.Files)
	switch {
	case c.want.Conf == nil || c.want.Conf.Consumer.Name == "kubelet":
		return Result{}
	case rt.Name == "docker" && rt.ConfDir == "":
		return failed("docker.service is there, and nothing serves CRI, which kubelet needs from Kubernetes 1.24 on",
			"remove cri from disabled_plugins in /etc/containerd/config.toml and restart containerd, or install "+
				"cri-dockerd")
	case rt.Name == "" && embedded != nil:
		return failed(embedded.Error(), "give the node a containerd or CRI-O with a unit of its own")
	case rt.Name == "":
		return notApplicable("this host has no containerd.service, crio.service or docker.service, " +
			"so the agent knows no container runtime")
	case rt.CRIDisabled:
		return failed(fmt.Sprintf("the CRI of %s is switched off: disabled_plugins has %s", rt.Name,
			strings.Join(rt.CRIDisabledBy, ", and ")), "remove it from that list, and restart "+rt.Name)
	case rt.Socket == "" || rt.NetworkReady == nil:
		return silentRuntime(ctx, c.view)
	}
	has := fmt.Sprintf("has loaded network %q", rt.LoadedNetwork)
	inForce := ""
	if len(c.confs) > 0 {
		inForce = path.Base(c.confs[0].File)
	}
	restart := "restart " + rt.Name +
		": pods keep running, and it reads the directory again; it watches the directory that was there when it " +
		"started, and sees only what is renamed within it"
	switch {
	case !*rt.NetworkReady && len(c.confs) == 0:
		return waiting(rt.Name+" has no network: "+rt.NetworkReason, "it loads the conf when the file is there")
	case !*rt.NetworkReady && rt.Name == "cri-o" && time.Since(c.confSince()).Abs() < crioLoads:
		return waiting("cri-o has no network yet: "+rt.NetworkReason, "it looks again within a second")
	case !*rt.NetworkReady && rt.Name == "docker":
		return failed("docker has no network: "+rt.NetworkReason, "cri-dockerd looks again every five seconds: "+
			"`journalctl -u cri-docker.service` says what it refuses")
	case !*rt.NetworkReady:
		return failed(rt.Name+" has no network: "+cmp.Or(rt.LoadError, rt.NetworkReason), restart)
	case rt.LoadError != "":
		return failed(fmt.Sprintf("%s %s, and could not load the present conf: %s", rt.Name, has, rt.LoadError),
			"repair the conf that it names")
	case rt.Name != "containerd" || rt.LoadedNetwork == "":
		return well(rt.Name + " says that its network is ready; it does not say which conf it has loaded")
	case rt.LoadedConf == "":
		return failed(fmt.Sprintf("%s %s, which no file in %s has any more", rt.Name, has, rt.ConfDir), restart)
	case inForce != "" && rt.LoadedConf != inForce:
		return failed(fmt.Sprintf("%s %s of %s, and %s is in force", rt.Name, has, rt.LoadedConf, inForce), restart)
	case rt.LoadedOld:
		return failed(fmt.Sprintf("%s %s of %s as it was before its last change", rt.Name, has, rt.LoadedConf),
			restart)
	default:
		return well(fmt.Sprintf("%s %s of %s", rt.Name, has, rt.LoadedConf))
	}
}

// directories compares the directories in which the runtime, or a kubelet that calls plugins
// itself, looks with those of the network's conf and plugins.
func (c *checker) directories() Result {
	if c.want.Conf == nil {
		return Result{}
	}
	rt, ours := c.view.Facts.Runtime, c.want.Conf
	who, from, confDir, binDirs := rt.Name, rt.From, rt.ConfDir, rt.BinDirs
	if rt.Name == "docker" && confDir == "" {
		k := c.view.Facts.Kubelet
		who, from, confDir, binDirs = "kubelet", k.Unit, k.CNI.ConfDir, k.CNI.BinDirs
		if k.CNI.Plugin == "" {
			return notApplicable("kubelet's unit has no --network-plugin: below Kubernetes 1.24 it then gives pods " +
				"no network, later cri-dockerd has the flag")
		}
		if k.CNI.Plugin != c.want.Network.Kubelet {
			return failed(fmt.Sprintf("kubelet has --network-plugin=%q, and %s needs %q", k.CNI.Plugin,
				c.want.Network.Name, c.want.Network.Kubelet), "run `agent --once`: it gives kubelet the flag")
		}
	}
	if who == "" || confDir == "" {
		return Result{} // the check of the runtime reports it
	}
	seen := fmt.Sprintf("%s looks for confs in %s and for plugins in %s (%s)", who, confDir,
		strings.Join(binDirs, ", "), from)
	next := fmt.Sprintf("run `agent --once`, which follows the runtime or sets it; by hand: %s's CNI directories and "+
		"networking.cni of the documents must be the same", who)
	switch {
	case path.Clean(confDir) != path.Clean(ours.Dir):
		return failed(fmt.Sprintf("%s, and the network's conf belongs in %s", seen, ours.Dir), next)
	case !slices.ContainsFunc(ours.BinDirs, func(dir string) bool { return slices.Contains(binDirs, dir) }):
		return failed(fmt.Sprintf("%s, and the network's plugins are in %s", seen, strings.Join(ours.BinDirs, ", ")),
			next)
	}
	for _, p := range programsOf(c) {
		file, _ := tasks.FindPlugin(c.view, ours.BinDirs, p.Name)
		if called, _ := tasks.FindPlugin(c.view, binDirs, p.Name); file != "" && called == "" {
			return failed(fmt.Sprintf("%s, and the plugin %s is in %s", seen, p.Name, path.Dir(file)), next)
		}
	}
	return well(seen)
}
