package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// ConfVariables are what a conf's template may hold as ${Name}, each with a value that it may take.
var ConfVariables = []struct{ Name, Sample string }{
	{"Address", "192.0.2.1"},      // this node's, as other nodes reach it
	{"BinDir", "/opt/cni/bin"},    // where the runtime looks for plugins
	{"CNIVersion", "1.0.0"},       // that every plugin and runtime of this Kubernetes release reads
	{"ClusterCIDR", "10.0.0.0/8"}, // all pods of the cluster
	{"ConfDir", "/etc/cni/net.d"},
	{"MTU", "1450"},               // of the pods
	{"Node", "node-1"},            // the node's name
	{"PodCIDR", "10.0.1.0/24"},    // this node's first
	{"PodCIDR4", "10.0.1.0/24"},   // its IPv4 one
	{"PodCIDR6", "2001:db8::/64"}, // its IPv6 one
	{"Ranges", "[]"},              // its pod CIDRs as host-local's `ranges`
	{"Routes", "[]"},              // a default route a family, as host-local's `routes`
	{"ServiceCIDR", "10.1.0.0/16"},
}

// Expand puts values into a template: ${Name} becomes value("Name"), and nothing else changes. An
// error says which name nobody knows, or is the value's own.
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

// Uses tells that the template asks for a variable.
func (c CustomConf) Uses(name string) bool { return strings.Contains(c.Template, "${"+name+"}") }

// sample is the template with sample values, to see whether it is a conf.
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

// chainOf reads the plugin types of a conf, as runtimes read it.
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

// custom checks what its fields ask of each other, and reads the chain from the template.
func (v *validator) custom() {
	c := v.node.Networking.Custom
	if c == nil {
		return
	}
	if c.Title == "" {
		v.ErrorAt(customAt, document.Diagnostic{ID: problem.FieldMissing, Summary: customAt + ".title is missing", Expected: "one line that says what the network is"})
	}
	conf := &c.Conf
	switch {
	case conf.Writer == "":
		v.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing, Summary: customAt + ".conf.writer is missing", Expected: "one of DaemonSet, containerd, netwright, user"})
		return
	case conf.File == "" && (conf.Writer == "netwright" || conf.Writer == "DaemonSet"):
		v.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing, Summary: customAt + ".conf.file is missing", Expected: "the conf's name, such as 10-acme.conflist"})
		return
	case conf.Template == "" && (conf.Writer == "netwright" || conf.Writer == "containerd"):
		v.ErrorAt(customAt+".conf", document.Diagnostic{ID: problem.FieldMissing, Summary: fmt.Sprintf("%s.conf.template is missing: the writer is %s", customAt, conf.Writer), Expected: "the conf as it is to be written"})
		return
	case conf.Template != "" && (conf.Writer == "DaemonSet" || conf.Writer == "user"):
		v.ErrorAt(customAt+".conf.template", document.Diagnostic{Summary: "a template is set, and the conf is written by " + conf.Writer, Hint: "take it out, or set writer: netwright"})
		return
	case conf.Writer == "netwright":
		v.customTemplate(conf)
	}
	v.customSigns(c)
	if c.PodIPv6(v.node) && !c.IPv6 {
		v.ErrorAt("spec.podCIDR", document.Diagnostic{Summary: fmt.Sprintf("podCIDR is %s, and %s does not say that it can do IPv6", v.node.PodCIDR, customAt), Expected: "ipv6: true, if it can"})
	}
}

// PodIPv6 tells that pods of the node's cluster have IPv6 addresses.
func (*Custom) PodIPv6(n *Node) bool { return n.PodCIDR.V6().IsValid() || n.PodCIDRs.V6().IsValid() }

func (v *validator) customTemplate(conf *CustomConf) {
	text, err := conf.sample()
	if err != nil {
		var names []string
		for _, known := range ConfVariables {
			names = append(names, known.Name)
		}
		v.ErrorAt(customAt+".conf.template", document.Diagnostic{Summary: err.Error(), Expected: decode.OneOf(names)})
		return
	}
	chain, err := chainOf(conf.File, text)
	if err != nil {
		v.ErrorAt(customAt+".conf.template", document.Diagnostic{Summary: err.Error(), Expected: `such as {"cniVersion": "${CNIVersion}", "name": "acme", "plugins": [{"type": "acme"}]}`})
		return
	}
	if len(conf.Chain) > 0 && !slices.Equal(conf.Chain, chain) {
		v.ErrorAt(customAt+".conf.chain", document.Diagnostic{Summary: fmt.Sprintf("the chain is %s, and the template's is %s", strings.Join(conf.Chain, ", "), strings.Join(chain, ", ")),
			Hint: "take the chain out: the template says it"})
	}
	conf.Chain = chain
}

func (v *validator) customSigns(c *Custom) {
	for i, s := range c.Signs {
		if (s.Path == "") == (s.Link == "") {
			v.ErrorAt(decode.Index(customAt+".signs", i), document.Diagnostic{Summary: fmt.Sprintf("sign %q names neither or both of a path and a link", document.Clip(s.What)), Expected: "one of path, link"})
		}
	}
	for i, p := range c.Ports {
		if p.Proto == "ip" && p.Port > 255 {
			v.ErrorAt(decode.Index(customAt+".ports", i), document.Diagnostic{Summary: fmt.Sprintf("%d is no number of an IP protocol", p.Port), Expected: "a whole number from 1 to 255"})
		}
	}
}
