package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/model/network"
)

// Page returns the page of one network. plans are the golden files with the network's plans and
// errors, by path in the repository.
func Page(n network.Network, meanings Meanings, plans []string, sources []Source) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/model/network and pkg/config: `go test ./test/pages -update` writes it. -->")
	w.para("# %s", n.Name)
	docs := n.Docs
	if !strings.Contains(docs, "://") {
		docs = "../../" + docs // ours
	}
	w.para("%s. [Its documentation](%s) · [all networks](README.md)", sentence(n.Title), docs)
	w.list(lifecycle(n.Lifecycle))
	w.choose(n, meanings)
	w.host(n)
	w.between(n)
	w.works(n)
	w.leaves(n)
	w.differs(n.Lifecycle.Disagreements)
	w.proved(n, plans)
	w.from(n, sources)
	return w.String()
}

// Beside is the page on what is chosen beside a network: kube-proxy.
func Beside(n network.Network) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/model/network: `go test ./test/pages -update` writes it. -->")
	w.para("# %s", n.Name)
	w.para("%s. [Its documentation](%s) · [all networks](README.md)", sentence(n.Title), n.Docs)
	w.list(lifecycle(n.Lifecycle))
	w.para("```yaml\n%s\n```", n.Chosen)
	w.shared(n)
	w.works(n)
	w.para("## What it leaves")
	w.modes(n)
	w.stays(n.Residue.Others)
	w.proved(n, nil)
	return w.String()
}

// lifecycle is all that there is to say but the disagreements, which have a section of their own.
func lifecycle(l network.Lifecycle) []string {
	l.Disagreements = nil
	var out []string
	for _, words := range l.Describe() {
		out = append(out, sentence(words)+".")
	}
	return out
}

// choose says how a document selects it.
func (w *writer) choose(n network.Network, meanings Meanings) {
	if n.Lifecycle.Gone != "" {
		return
	}
	w.para("## In the documents")
	fields := fieldsOf(n.Name, meanings)
	if n.Chosen != "" {
		w.para("```yaml\n%s\n```", n.Chosen)
		return
	}
	if len(fields) == 0 {
		w.para("```yaml\nspec:\n  networking:\n    %s: {}\n```", n.Name)
		w.para("The network has no fields.")
		return
	}
	w.para("Below `spec.networking.%s`, in the cluster's document, a node group's or a node's:", n.Name)
	if slices.ContainsFunc(config.NetworkFields(n.Name), func(f decode.Description) bool { return f.Newer }) {
		w.para(newNote)
	}
	w.table([]string{"field", "takes", "default", "what it does"}, fields)
}

// host says what the agent does on a node, and what it cannot do for it.
func (w *writer) host(n network.Network) {
	if n.Lifecycle.Gone != "" {
		return
	}
	w.para("## On the node")
	switch n.Conf.Writer {
	case network.WriterNetwright:
		w.para("Netwright writes the conf %s itself, as its last step. With the conf the node can run pods.", code(n.Conf.File))
	case network.WriterNone:
		w.para("There is no CNI conf: kubelet does not need one.")
	case network.WriterUser:
		w.para("The program that installs the network writes the conf%s. Netwright prepares the node and says whether the conf is in force.", named(n.Conf.File))
	default:
		w.para("Its %s writes the conf %s. Netwright prepares the node, waits for the conf, and says whether it is in force; it never writes that file.", n.Conf.Writer, code(n.Conf.File))
	}
	if len(n.Conf.Chain) > 0 {
		w.para("Plugins in the chain: %s.", codes(n.Conf.Chain, " → "))
	}
	var rows [][]string
	row := func(what, name string, why ...string) { rows = append(rows, []string{what, name, clauses(why...)}) }
	for _, words := range n.Requires.Describe() {
		row("requires", words, "a node without it is refused before any change")
	}
	for _, p := range n.Plugins {
		of := p.Asset
		if p.Archive != "" {
			of += fmt.Sprintf(", %s of [its releases](%s)", code(p.Archive), p.Source)
		}
		row("plugins", codes(p.Members, " "), "of "+of, atLeast(p.Minimum), p.When)
	}
	for _, m := range n.Modules {
		row("module", code(m.Name), m.Why, m.When, optional(m.Optional))
	}
	for _, s := range n.Sysctls {
		row("sysctl", code(s.Key+" = "+s.Value), s.Why, s.When, required(s.Required))
	}
	for _, m := range n.Mounts {
		row("mount", code(m.Where), m.Type, m.When)
	}
	for _, p := range n.Packages {
		row("package", code(p.Name), "on "+p.On, p.When, "named in a note, not installed")
	}
	for _, c := range n.Certificates {
		row("certificate", codes(c.Files, " "), "keypair "+c.Keypair+" in "+c.Dir+", mode "+c.Mode, c.When)
	}
	if n.Kubeconfig != "" {
		row("kubeconfig", n.Kubeconfig)
	}
	w.table([]string{"what", "which", "why and when"}, rows)
	if len(n.Sysctls) > 0 {
		w.para("A value in `sysctlParameters` wins over a default. A value that differs from a required one is an error.")
	}
	w.shared(n)
}

// shared says what other services of the host leave alone.
func (w *writer) shared(n network.Network) {
	if shared := n.SharedHost.Describe(); len(shared) > 0 {
		w.para("Other services of the host must not change these items of the network:")
		var rows [][]string
		for _, s := range shared {
			rows = append(rows, []string{s.Service, s.Ignores})
		}
		w.table([]string{"service", "leaves alone"}, rows)
	}
}

// between says what nodes send each other.
func (w *writer) between(n network.Network) {
	w.para("## Between nodes")
	var rows [][]string
	for _, p := range n.Ports {
		port := fmt.Sprintf("%s %d", p.Proto, p.Port)
		if p.Proto == "ip" {
			port = fmt.Sprintf("IP protocol %d", p.Port)
		}
		rows = append(rows, []string{port, p.Use})
	}
	if len(rows) == 0 {
		w.para("The network needs no port of its own: packets of pods between nodes are routed, or another program carries them.")
	}
	w.table([]string{"allow", "use"}, rows)
	w.para("MTU: %s.", strings.TrimSuffix(n.MTU, "."))
	if n.IPv6 {
		when := ""
		if n.IPv6When != "" {
			when = ", with " + n.IPv6When
		}
		w.para("Pods may have IPv6 addresses%s.", when)
	} else {
		w.para("Pods have IPv4 addresses only.")
	}
}

func atLeast(v string) string {
	if v == "" {
		return ""
	}
	return "at least " + v
}

func optional(yes bool) string {
	if yes {
		return "its absence is only a warning"
	}
	return ""
}

func required(yes bool) string {
	if yes {
		return "required"
	}
	return "a default"
}

func named(file string) string {
	if file == "" {
		return ""
	}
	return " " + code(file)
}

// sentence begins with a capital, unless with a name that has none.
func sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if strings.ToLower(first) != first || strings.ContainsAny(first, "0123456789.'") {
		return s
	}
	return cmp.Or(strings.ToUpper(s[:1])+s[1:], s)
}
