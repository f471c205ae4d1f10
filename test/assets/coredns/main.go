// Command coredns is CoreDNS as a cluster runs it, with only the plugins that answer for services
// and pods. The whole CoreDNS contains the clients of three clouds.
// https://coredns.io/2017/07/25/compile-time-enabling-or-disabling-plugins/
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	dnsserver.Directives = []string{"errors", "ready", "kubernetes"}
	coremain.Run()
}
