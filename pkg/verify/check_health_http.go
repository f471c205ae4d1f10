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

// healthTimeout is how long a network's agent may take to answer. With less time than kubelet's
// probes allow by default, the agent of a busy node would count as dead.
const healthTimeout = 2 * time.Second

// health asks the network's own agent, at an address of this host.
func (c *checker) health(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	if s.URL == "" {
		return "", true, nil
	}
	status, seen, err := askHealth(ctx, s.URL)
	return seen, err == nil && status/100 == 2, nil
}

// askHealth asks a program of this host for its health, and returns the HTTP status. An error means
// that it does not answer. seen describes the result in both cases.
func askHealth(ctx context.Context, url string) (status int, seen string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, probe.ErrNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error(), fmt.Errorf("ask %s: %w", url, err)
	}
	req.Header.Set("brief", "true") // otherwise Cilium also counts other clusters and nodes
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		err = inner(err)
		return 0, fmt.Sprintf("%s: %s", url, err), err
	}
	defer resp.Body.Close()
	return resp.StatusCode, fmt.Sprintf("%s says %s", url, resp.Status), nil
}

// inner returns an HTTP client's error without the method and the address, which the caller prints.
func inner(err error) error {
	for errors.Unwrap(err) != nil && !errors.Is(err, probe.ErrNoAnswer) {
		err = errors.Unwrap(err)
	}
	return err
}
