package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// trusted is what the node takes for its configuration. The agent's own file says it; a flag can
// only say that nothing has to vouch.
type trusted struct {
	pin      trust.Pin
	keys     []trust.Key
	unsigned bool
	older    bool // said by a flag only
}

// addTrust gives all commands the flag that lets an unsigned store be used.
func (f *flags) addTrust(cmd *cobra.Command) {
	cmd.PersistentFlags().BoolVar(&f.trust.unsigned, "insecure-unsigned", false,
		"take a configuration that is neither pinned nor signed (insecureUnsigned in the agent's file)")
}

// trusts takes over what the agent's own file says of trust.
func (f *flags) trusts(own *agentfile.AgentFile) error {
	f.trust.unsigned = f.trust.unsigned || own.InsecureUnsigned
	if own.Pin != "" {
		f.trust.pin = trust.Pin{Digest: own.Pin, Origin: own.Origin("pin").String()}
	}
	for _, text := range own.TrustedKeys {
		key, err := trust.ParseKey(text, own.Origin("trustedKeys").String())
		if err != nil {
			return err
		}
		f.trust.keys = append(f.trust.keys, key)
	}
	return nil
}

// policy is what the store's manifest is held against. In a sandbox nothing of this host is at
// stake.
func (f *flags) policy() *trust.Policy {
	return &trust.Policy{Pin: f.trust.pin, Keys: f.trust.keys, Unsigned: f.trust.unsigned || f.sandbox,
		Older: f.trust.older}
}
