package daemons

import (
	"context"

	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// startInCluster starts a program as a unit that finds the API as a program in a pod does: by its
// environment, and by an account of kube-system in the files of that pod.
func startInCluster(ctx context.Context, server *kubeapi.Server, n *node.Node, unit, account, nodeName string, command ...string) {
	const secrets = "/run/secrets/kubernetes.io/serviceaccount"
	n.Write(secrets+"/token", server.Token("kube-system", account), 0o600)
	n.Write(secrets+"/ca.crt", server.Authority.PEM, 0o600)
	n.Must(ctx, "systemd-run", append([]string{"--quiet", "--collect", "--unit=" + unit, "--setenv=" + nodeName + "=" + n.Name(),
		"--setenv=KUBERNETES_SERVICE_HOST=" + node.Gateway4, "--setenv=KUBERNETES_SERVICE_PORT=6443", "--"}, command...)...)
}
