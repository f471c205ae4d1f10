package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/verify/traffic"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/verify"
)

// A transient service makes a checkpoint's proof with pods, because the units of the daemon and of
// the undo may not create namespaces.

// The name of that service, its program, and the file of its results.
const (
	provingUnit = "netwright-pods"
	proverFile  = "/usr/bin/netwright"
	proofFile   = "/run/netwright/pods.json"
)

// MakeProof makes the proof and writes its results to a file. The transient service runs it.
func MakeProof(ctx context.Context) (err error) {
	opt := host.Options{Root: "/"}
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	unlock, err := ipc.Lock(ctx, opt.Files(), traffic.ProofLock, nil)
	if err != nil {
		return err
	}
	defer unlock()
	rt := h.Live.Facts.Runtime
	data, err := json.Marshal(traffic.Prove(ctx, h, traffic.Options{ConfDir: rt.ConfDir, BinDirs: rt.BinDirs}))
	if err != nil {
		return fmt.Errorf("encode the proof: %w", err)
	}
	return h.Files.WriteFile(ctx, proofFile, data, hostfs.FileSpec{Mode: 0o600})
}

// askTraffic starts the service that makes the proof, and waits for it until the deadline of ctx.
func askTraffic(ctx context.Context, h *host.Host) (map[string]error, error) {
	if err := h.Files.Remove(proofFile); err != nil {
		return nil, err
	}
	end, bounded := ctx.Deadline()
	if !bounded {
		return nil, errors.New("a proof with pods needs a deadline")
	}
	if err := h.Units.TryService(ctx, provingUnit, "Netwright: prove that pods talk", "", time.Until(end), proverFile,
		"prove-pods"); err != nil {
		return nil, err
	}
	data, err := h.Live.Files.ReadFile(proofFile)
	if err != nil {
		return nil, fmt.Errorf("read the proof: %w", err)
	}
	var results []verify.Result
	if err := json.Unmarshal(data, &results); err != nil {
		return nil, fmt.Errorf("read the proof: %w", err)
	}
	return verdicts(results), h.Files.Remove(proofFile)
}

// verdicts returns the checks of a proof that count. It leaves out the check whether a pod reaches
// itself by a service, because the documents choose that.
func verdicts(results []verify.Result) map[string]error {
	checks := map[string]error{}
	for _, r := range results {
		switch {
		case r.State == verify.NotApplicable || r.Check == traffic.Hairpin:
		case r.State == verify.OK:
			checks[r.Check] = nil
		default:
			checks[r.Check] = errors.New(r.Seen)
		}
	}
	return checks
}
