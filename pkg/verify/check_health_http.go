package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/verify/probe"
)

// healthTimeout is how long a network's agent may take to say how it is: less than kubelet's
// probes give it by default would call it dead on a busy node.
const healthTimeout = 2 * time.Second

// health asks the network's own agent, at an address of this host.
func (c *checker) health(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	if s.URL == "" {
		return "", true, nil
	}
	status, seen, err := askHealth(ctx, s.URL)
	return seen, err == nil && status/100 == 2, nil
}

// askHealth asks a program of this host how it is: the status that it answers with. An error says
// that it does not answer; seen says either.
func askHealth(ctx context.Context, url string) (status int, seen string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, probe.ErrNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error(), fmt.Errorf("ask %s: %w", url, err)
	}
	req.Header.Set("brief", "true") // Cilium's counts clusters and nodes else, which are not this node's
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		err = inner(err)
		return 0, fmt.Sprintf("%s: %s", url, err), err
	}
	defer resp.Body.Close()
	return resp.StatusCode, fmt.Sprintf("%s says %s", url, resp.Status), nil
}

// inner is what a client says without the method and the address, which the caller has said.
func inner(err error) error {
	for errors.Unwrap(err) != nil && !errors.Is(err, probe.ErrNoAnswer) {
		err = errors.Unwrap(err)
	}
	return err
}
