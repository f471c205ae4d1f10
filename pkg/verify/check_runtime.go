package verify

import (
	"cmp"
	"fmt"
	"path"
)

// runtime holds what the container runtime says of its network (CRI's Status) to the conf in force.
func (c *checker) runtime() {
	const check = "runtime"
	rt := c.view.Facts().Runtime
	switch {
	case c.want.Conf == nil || rt.Name == "docker":
		return
	case rt.Name == "":
		c.add(check, NotHere, "there is no container runtime on this host", "")
		return
	case rt.Socket == "" || rt.NetworkReady == nil:
		c.add(check, Waiting, rt.Name+" does not answer over CRI", "does it run? `systemctl status containerd crio`")
		return
	}
	has := fmt.Sprintf("has loaded network %q", rt.LoadedNetwork)
	inForce := ""
	if len(c.confs) > 0 {
		inForce = path.Base(c.confs[0].File)
	}
	restart := "put the file there again under a temporary name in the same directory and rename it (containerd sees no other way), or restart " + rt.Name
	switch {
	case !*rt.NetworkReady && len(c.confs) == 0:
		c.add(check, Waiting, rt.Name+" has no network: "+rt.NetworkReason, "it loads the conf when it is there")
	case !*rt.NetworkReady:
		c.add(check, Failed, rt.Name+" has no network: "+cmp.Or(rt.LoadError, rt.NetworkReason), restart)
	case rt.LoadError != "":
		c.add(check, Failed, fmt.Sprintf("%s %s, and could not load what is there now: %s", rt.Name, has, rt.LoadError), "repair the conf that it names")
	case rt.Name != "containerd" || rt.LoadedNetwork == "":
		c.add(check, OK, rt.Name+" says that its network is ready; it does not say which conf it has loaded", "")
	case rt.LoadedConf == "":
		c.add(check, Failed, fmt.Sprintf("%s %s, which no file in %s has any more", rt.Name, has, rt.ConfDir), restart)
	case inForce != "" && rt.LoadedConf != inForce:
		c.add(check, Failed, fmt.Sprintf("%s %s of %s, and %s is in force", rt.Name, has, rt.LoadedConf, inForce), restart)
	case rt.LoadedOld:
		c.add(check, Failed, fmt.Sprintf("%s %s of %s as it was before its last change", rt.Name, has, rt.LoadedConf), restart)
	default:
		c.add(check, OK, fmt.Sprintf("%s %s of %s", rt.Name, has, rt.LoadedConf), "")
	}
}
