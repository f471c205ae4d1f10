package network

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/tasks"
)

const customAt = "spec.networking.custom"

// errNoPodCIDR says that the template uses the pod CIDRs, which this node does not have yet.
var errNoPodCIDR = errors.New("the pod CIDRs of this node are not known yet")

func buildCustom(in Input, b *Built) error {
	b.KubeletPlugin = "cni"
	c := in.Node.Networking.Custom
	if err := b.refuseDangers(in, c); err != nil {
		return err
	}
	for i, id := range c.Certificates {
		if err := b.addIdentity(in, customIdentity(in, i, id)); err != nil {
			return err
		}
	}
	for i, p := range c.Packages {
		if p.On == in.Facts.OS.ID {
			b.note(Info, in.Origin(fmt.Sprintf("%s.packages[%d]", customAt, i)),
				"the network needs the package %s, which nothing installs: see that the image has it", p.Name)
		}
	}
	adds := encapsulation{sure: c.Overhead}
	if c.Overhead > 0 {
		adds.by = "its encapsulation"
	}
	if err := b.fitMTU(in, customAt+".mtu", c.MTU, adds); err != nil {
		return err
	}
	switch c.Conf.Writer {
	case WriterNetwright:
		return b.addCustomConf(in, c)
	case WriterContainerd:
		return b.addConfTemplate(in, []byte(c.Conf.Template), cmp.Or(c.Conf.File, kubenetConf))
	case WriterDaemonSet:
		b.Wait = in.waitConf(c.Conf.File, "its DaemonSet writes it")
	default:
		b.Wait = in.waitConf(c.Conf.File, "whoever brings the network writes it")
	}
	return nil
}

// refuseDangers returns one error for all selectors of a declaration that could match things of
// other owners. It only warns of selectors that match nothing.
func (b *Built) refuseDangers(in Input, c *networks.Custom) error {
	var all []error
	for _, d := range Dangers(customResidue(c.Residue)) {
		if d.Spared {
			b.note(Warning, in.Origin(customAt+".leftovers."+d.At),
				"leftovers.%s, %s, is no mark, and nothing goes by it: %s", d.At, d.Mark, d.Why)
			continue
		}
		all = append(all, fmt.Errorf("use custom (%s): leftovers.%s, %s, can be somebody else's: %s",
			in.Origin(customAt+".leftovers."+d.At), d.At, d.Mark, d.Why))
	}
	return errors.Join(all...)
}

func customIdentity(in Input, i int, c networks.CustomCertificate) identity {
	ca := cmp.Or(c.CA, c.Keypair)
	return identity{network: customName, origin: in.Origin(fmt.Sprintf("%s.certificates[%d]", customAt, i)),
		because: "it is declared so", why: "its parts show it to their server",
		server: "the server", keypair: c.Keypair, caName: ca, ca: in.caOr(ca), dir: c.Dir, commonName: c.CommonName,
		CA: tasks.CertFile{Name: c.CAFile, Mode: 0o644}, Cert: tasks.CertFile{Name: c.CertFile, Mode: 0o644},
		Key: tasks.CertFile{Name: c.KeyFile, Mode: 0o600}}
}

// addCustomConf adds the conf, which is the template with the values of its variables. While the
// node's pod CIDRs are not known, it adds a task that waits for them instead.
func (b *Built) addCustomConf(in Input, c *networks.Custom) error {
	text, err := c.Conf.Expand(func(name string) (string, error) { return variable(in, c, name) })
	if errors.Is(err, errNoPodCIDR) {
		b.awaitPodCIDRs(in, "its conf holds the node's pod CIDRs", "")
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the conf of custom (%s): %w", in.Origin(customAt+".conf.template"), err)
	}
	b.Conf = in.ownConf(in.Origin(customAt+".conf.template"), c.Conf.File, []byte(text))
	b.Wait = in.waitConf(c.Conf.File, "we write it")
	return nil
}

// variable returns the value of one of [networks.ConfVariables] on this node. A value that this
// node does not have is an error, not an empty text.
func variable(in Input, c *networks.Custom, name string) (string, error) {
	switch name {
	case "Address":
		return required(in.Node.Address.String(), "address of this node", "put address into its document")
	case "BinDir":
		return in.BinDir, nil
	case "CNIVersion":
		return confVersion(in.Node.KubernetesVersion), nil
	case "ClusterCIDR":
		return required(in.Node.PodCIDR.String(), "range for the cluster's pods", "set spec.podCIDR")
	case "ConfDir":
		return in.ConfDir, nil
	case "MTU":
		mtu, err := customMTU(in, c)
		return strconv.Itoa(mtu), err
	case "Node":
		return required(in.Node.Name, "name of this node", "name it with --node")
	case "ServiceCIDR":
		return required(in.Node.ServiceClusterIPRange.String(), "range for services", "set spec.serviceClusterIPRange")
	}
	return podVariable(in, name)
}

func podVariable(in Input, name string) (string, error) {
	if len(in.PodCIDRs) == 0 {
		return "", errNoPodCIDR
	}
	switch name {
	case "PodCIDR4":
		if !in.PodCIDRs.V4().IsValid() {
			return "", fmt.Errorf("${PodCIDR4} has no value: this node's pods have %s only", in.PodCIDRs)
		}
		return in.PodCIDRs.V4().String(), nil
	case "PodCIDR6":
		if !in.PodCIDRs.V6().IsValid() {
			return "", fmt.Errorf("${PodCIDR6} has no value: this node's pods have %s only", in.PodCIDRs)
		}
		return in.PodCIDRs.V6().String(), nil
	case "Ranges":
		return rangesText(in.PodCIDRs)
	case "Routes":
		return routesText(in.PodCIDRs)
	}
	return in.PodCIDRs[0].String(), nil
}

func required(text, what, todo string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("no document says the %s, which its conf holds: %s", what, todo)
	}
	return text, nil
}

// customMTU returns the MTU of pods: the declared one, or else that of the links less the declared
// overhead.
func customMTU(in Input, c *networks.Custom) (int, error) {
	if c.MTU != 0 {
		return c.MTU, nil
	}
	ours := podLinks(in)
	for _, l := range in.Facts.Links {
		if anyMatches(c.SharedHost.Links, l.Name) {
			ours = append(ours, l.Name)
		}
	}
	links, err := LinkMTU(in.Facts.Links, ours...)
	if err != nil {
		return 0, err
	}
	return links - c.Overhead, nil
}
