package networks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// CustomConf says who writes the CNI conf.
type CustomConf struct {
	// Writer: Says who writes the conf: netwright (from `template`), containerd (`template` is its
	// conf_template), DaemonSet (the agent waits for `file`), or user.
	Writer string `json:"writer"`
	// File: Sets the name of the conf in the conf directory.
	File string `json:"file,omitempty"`
	// Template: Sets the conf as text with variables such as ${PodCIDR}.
	Template string `json:"template,omitempty"`
	// Chain: Lists the types of the conf's plugins in order. If there is a `template`, the agent
	// reads them from it.
	Chain []string `json:"chain,omitempty"`
}

func (c *CustomConf) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("writer", &c.Writer, "netwright", "containerd", "DaemonSet", "user"),
		decode.Text("file", &c.File, decode.ValidConfName),
		decode.Text("template", &c.Template, decode.NotEmpty),
		decode.Texts("chain", &c.Chain, decode.ValidMember),
	}
}

// ConfVariables are the variables that a conf's template may use as ${Name}, each with a sample
// value.
var ConfVariables = []struct{ Name, Sample string }{
	{"Address", "192.0.2.1"},      // this node's address, as other nodes reach it
	{"BinDir", "/opt/cni/bin"},    // the directory where the runtime looks for plugins
	{"CNIVersion", "1.0.0"},       // the version that all plugins and runtimes of this Kubernetes release read
	{"ClusterCIDR", "10.0.0.0/8"}, // the range of all pods of the cluster
	{"ConfDir", "/etc/cni/net.d"},
	{"MTU", "1450"},               // the MTU of the pods' links
	{"Node", "node-1"},            // the node's name
	{"PodCIDR", "10.0.1.0/24"},    // this node's first pod CIDR
	{"PodCIDR4", "10.0.1.0/24"},   // this node's IPv4 pod CIDR
	{"PodCIDR6", "2001:db8::/64"}, // this node's IPv6 pod CIDR
	{"Ranges", "[]"},              // this node's pod CIDRs, as host-local's `ranges`
	{"Routes", "[]"},              // a default route for each family, as host-local's `routes`
	{"ServiceCIDR", "10.1.0.0/16"},
}

// Expand replaces each ${Name} in the template by value("Name"), and changes nothing else. It
// returns an error for a variable that is not closed, and each error of value.
func (c CustomConf) Expand(value func(name string) (string, error)) (string, error) {
	var out strings.Builder
	rest := c.Template
	for {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("the variable ${%s has no }", document.Clip(after))
		}
		text, err := value(name)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		rest = tail
	}
}

// Uses reports whether the template uses a variable.
func (c CustomConf) Uses(name string) bool { return strings.Contains(c.Template, "${"+name+"}") }

// sample returns the template with sample values, to check whether it is a conf.
func (c CustomConf) sample() (string, error) {
	return c.Expand(func(name string) (string, error) {
		for _, v := range ConfVariables {
			if v.Name == name {
				return v.Sample, nil
			}
		}
		return "", fmt.Errorf("the template asks for ${%s}, which nobody knows", document.Clip(name))
	})
}

// chainOf returns the types of a conf's plugins, as runtimes read them.
// https://www.cni.dev/docs/spec/#section-1-network-configuration-format
func chainOf(file, text string) ([]string, error) {
	var conf struct {
		CNIVersion, Name, Type string
		Plugins                []struct{ Type string }
	}
	if err := json.Unmarshal([]byte(text), &conf); err != nil {
		return nil, fmt.Errorf("the conf is no JSON once its variables have values: %w", err)
	}
	list := strings.HasSuffix(file, ".conflist")
	switch {
	case conf.Name == "":
		return nil, errors.New("the conf has no name")
	case list && len(conf.Plugins) == 0:
		return nil, errors.New("the conf is a list without plugins")
	case !list && conf.Type == "":
		return nil, errors.New("the conf has no type: a list of plugins goes into a file that ends in .conflist")
	case !list:
		return []string{conf.Type}, nil
	}
	var chain []string
	for i, p := range conf.Plugins {
		if p.Type == "" {
			return nil, fmt.Errorf("plugin %d of the conf has no type", i+1)
		}
		chain = append(chain, p.Type)
	}
	return chain, nil
}

const customAt = "spec.networking.custom"

// checkTemplate refuses a template that is no conf, and reads the chain from it.
func (c *CustomConf) checkTemplate(r *decode.Reporter) {
	text, err := c.sample()
	if err != nil {
		var names []string
		for _, known := range ConfVariables {
			names = append(names, known.Name)
		}
		r.ErrorAt(customAt+".conf.template", document.Diagnostic{Summary: err.Error(), Expected: decode.OneOf(names)})
		return
	}
	chain, err := chainOf(c.File, text)
	if err != nil {
		r.ErrorAt(customAt+".conf.template",
			document.Diagnostic{Summary: err.Error(),
				Expected: `such as {"cniVersion": "${CNIVersion}", "name": "acme", "plugins": [{"type": "acme"}]}`})
		return
	}
	if len(c.Chain) > 0 && !slices.Equal(c.Chain, chain) {
		r.ErrorAt(customAt+".conf.chain",
			document.Diagnostic{Summary: fmt.Sprintf("the chain is %s, and the template's is %s",
				strings.Join(c.Chain, ", "), strings.Join(chain, ", ")),
				Hint: "take the chain out: the template says it"})
	}
	c.Chain = chain
}
