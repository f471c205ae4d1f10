package alerts

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// one has the labels of node-1, the node of an alert unless the case names another.
const one = `{job="netwright", instance="node-1"} `

// cases has for each alert series with which it fires at a time after the series begin, and series
// with which it does not. Series have promtool's form, with a value every minute: "0x30" is 0 and
// thirty times more, and "0+1x30" counts. The clock begins at 0.
var cases = []struct {
	alert string
	on    string // the instance; "": node-1
	fires string
	at    time.Duration
	says  string // in the text of the alert that fires
	quiet map[string]string
}{
	{alert: "NetwrightDown", at: 11 * time.Minute, fires: `up` + one + `0x20`, says: "network of node-1", quiet: map[string]string{
		"for 9 minutes":      `up` + one + `1 1 0x20`,
		"it came back":       `up` + one + `0x5 1x20`,
		"of something else":  `up{job="other", instance="node-1"} 0x20`,
		"none is scraped":    `other 0x20`,
		"it answers already": `up` + one + `0x9 1x20`,
	}},
	{alert: "NetwrightFailing", at: 16 * time.Minute, fires: `netwright_tasks{state="failing", kind="file", instance="node-1"} 1x30`, quiet: map[string]string{
		"for 14 minutes": `netwright_tasks{state="failing", kind="file", instance="node-1"} 0 0 1x30`,
		"contested":      `netwright_tasks{state="contested", kind="file", instance="node-1"} 1x30`,
		"now and then":   `netwright_tasks{state="failing", kind="file", instance="node-1"} 1x8 0 1x20`,
		"the store is away": `netwright_node_state{state="failing", instance="node-1"} 1x30
			netwright_last_pass_failed{instance="node-1"} 0x30`,
	}},
	{alert: "NetwrightFailing", at: 16 * time.Minute, fires: `netwright_last_pass_failed` + one + `1x30`, quiet: map[string]string{"one pass": `netwright_last_pass_failed` + one + `1 0x30`}},
	{alert: "NetwrightFailing", at: 16 * time.Minute, fires: `netwright_pass_hangs` + one + `1x30`, quiet: map[string]string{"it ended": `netwright_pass_hangs` + one + `1x5 0x30`}},
	{alert: "NetwrightManyFailing", on: "-", at: 6 * time.Minute, fires: fleet(20, 3), says: "15% of the nodes of demo fail", quiet: map[string]string{
		"two of twenty": fleet(20, 2), "two of three": fleet(3, 2), "none": fleet(20, 0), "three of forty": fleet(40, 3),
	}},
	{alert: "NetwrightNotPrepared", at: 11 * time.Minute, fires: `netwright_prepared` + one + `0x20`, quiet: map[string]string{"prepared at last": `netwright_prepared` + one + `0x5 1x20`}},
	{alert: "NetwrightCritical", at: 2 * time.Minute, fires: `netwright_node_state{state="critical", instance="node-1"} 1x20`, says: "Pods of node-1 are cut off", quiet: map[string]string{
		"another state":          `netwright_node_state{state="failing", instance="node-1"} 1x20`,
		"none":                   `netwright_node_state{state="critical", instance="node-1"} 0x20`,
		"for less than a minute": `netwright_node_state{state="critical", instance="node-1"} 0x1 1 0x20`,
	}},
	{alert: "NetwrightServiceDown", at: 2 * time.Minute, fires: `netwright_service_up{service="kubelet", instance="node-1"} 0x20`, says: "kubelet of node-1 does not work", quiet: map[string]string{
		"it works":         `netwright_service_up{service="kubelet", instance="node-1"} 1x20`,
		"restarted once":   `netwright_service_up{service="kubelet", instance="node-1"} 1 0 1x20`,
		"there is no such": `netwright_prepared` + one + `1x20`,
	}},
	{alert: "NetwrightContested", at: 6 * time.Minute, fires: `netwright_tasks{instance="node-1", kind="sysctl", state="contested"} 2x20`, says: "keeps writing sysctl on node-1", quiet: map[string]string{
		"failing": `netwright_tasks{instance="node-1", kind="sysctl", state="failing"} 2x20`, "none": `netwright_tasks{instance="node-1", kind="sysctl", state="contested"} 0x20`,
	}},
	{alert: "NetwrightDrifted", at: 16 * time.Minute, fires: `netwright_tasks{instance="node-1", kind="file", state="drifted"} 2x30`, says: "2 file of node-1", quiet: map[string]string{
		"somebody mended it": `netwright_tasks{instance="node-1", kind="file", state="drifted"} 2x10 0x20`,
	}},
	{alert: "NetwrightRepairsOften", at: 65 * time.Minute, fires: `netwright_repairs_total{instance="node-1", kind="sysctl"} 0+1x120`, says: "sysctl of node-1", quiet: map[string]string{
		"twenty at boot, long ago": `netwright_repairs_total{instance="node-1", kind="sysctl"} 100x120`,
		"one in ten minutes":       `netwright_repairs_total{instance="node-1", kind="sysctl"} 0x9 1x9 2x9 3x9 4x9 5x9 6x9 7x9`,
		"the daemon began anew":    `netwright_repairs_total{instance="node-1", kind="sysctl"} 100x60 0x60`,
	}},
	{alert: "NetwrightRolledBack", at: 30 * time.Minute, fires: `netwright_rollbacks_total` + one + `0x10 1x30`, quiet: map[string]string{
		"two hours ago, or more": `netwright_rollbacks_total` + one + `1x120`, "none": `netwright_rollbacks_total` + one + `0x60`,
	}},
	{alert: "NetwrightRolledBack", at: 130 * time.Minute, fires: `netwright_last_undo_timestamp_seconds{cause="boot", instance="node-1"} 6000x200
		netwright_rollbacks_total` + one + `1x200`, quiet: map[string]string{
		"two hours ago":        `netwright_last_undo_timestamp_seconds{cause="failed", instance="node-1"} 600x200`,
		"nobody confirmed one": `netwright_last_undo_timestamp_seconds{cause="unconfirmed", instance="node-1"} 6000x200`,
	}},
	{alert: "NetwrightRefused", at: 16 * time.Minute, fires: `netwright_refused_keys{by="rule", instance="node-1"} 2x30`, says: "2 keys that the documents want are refused on node-1 (rule)", quiet: map[string]string{
		"none":                    `netwright_refused_keys{by="rule", instance="node-1"} 0x30`,
		"taken out after a while": `netwright_refused_keys{by="boot", instance="node-1"} 1x10 0x30`,
	}},
	{alert: "NetwrightNotProved", at: 70 * time.Minute, fires: `netwright_unproved{proof="dns", instance="node-1"} 0x30 1x120`, says: "node-1 stayed without the proof dns", quiet: map[string]string{
		"it never had it":      `netwright_unproved{proof="dns", instance="node-1"} 1x120`,
		"a first change":       `netwright_unproved{proof="dns", instance="node-1"} _x30 1x120`,
		"the next one has it":  `netwright_unproved{proof="dns", instance="node-1"} 0x20 1x30 0x120`,
		"what no agent proves": `netwright_unproved{proof="inbound", instance="node-1"} 0x30 1x120`,
		"of another node": `netwright_unproved{proof="dns", instance="node-1"} 0x120
			netwright_unproved{proof="dns", instance="node-2"} 1x120`,
	}},
	{alert: "NetwrightAwaitingBoot", at: 30*day + 3*time.Hour, fires: `netwright_awaiting_boot_since_timestamp_seconds` + one + `60x50000`, says: "node-1 has had files for 30d", quiet: map[string]string{
		"for a week":     `netwright_awaiting_boot_since_timestamp_seconds` + one + `2000000x50000`,
		"it was booted":  `netwright_awaiting_boot_since_timestamp_seconds` + one + `60x40000 _x10000`,
		"nothing awaits": `netwright_awaiting_boot` + one + `0x50000`,
	}},
	{alert: "NetwrightAwaitingConfirmation", at: 4*time.Hour + time.Minute, fires: `netwright_awaiting_confirmation` + one + `1x300`, quiet: map[string]string{
		"for some minutes": `netwright_awaiting_confirmation` + one + `1x10 0x300`,
	}},
	{alert: "NetwrightWaiting", at: 31 * time.Minute, fires: `netwright_tasks{instance="node-1", kind="file", state="waiting"} 1x60`, says: "1 file of node-1 wait", quiet: map[string]string{
		"the DaemonSet came": `netwright_tasks{instance="node-1", kind="file", state="waiting"} 1x20 0x40`,
	}},
	{alert: "NetwrightEffectsOwed", at: 61 * time.Minute, fires: `netwright_owed_effects` + one + `1x90`, says: "owes 1 restarts", quiet: map[string]string{
		"done after a while": `netwright_owed_effects` + one + `1x40 0x50`,
	}},
	{alert: "NetwrightStuck", at: 45 * time.Minute, fires: `netwright_next_pass_timestamp_seconds` + one + `60x60`, says: "node-1 has made no pass", quiet: map[string]string{
		"a pass every ten minutes": `netwright_next_pass_timestamp_seconds` + one + `600x9 1200x9 1800x9 2400x9 3000x9 3600x9`,
		"a long one":               `netwright_next_pass_timestamp_seconds` + one + `1800x60`,
		"none yet":                 `netwright_prepared` + one + `1x60`,
	}},
	{alert: "NetwrightPassesSlow", at: 100 * time.Minute, fires: passes(0, 10), quiet: map[string]string{"one of twenty": passes(19, 1), "none": passes(10, 0)}},
	{alert: "NetwrightConfigurationOld", at: 130 * time.Minute, fires: `netwright_configuration_known_timestamp_seconds` + one + `60x180`, says: "node-1 has not heard of its store for 2h", quiet: map[string]string{
		"an hour ago": `netwright_configuration_known_timestamp_seconds` + one + `60x69 4200x100`,
	}},
	{alert: "NetwrightConfigurationUnusable", at: 31 * time.Minute, fires: `netwright_configuration_error` + one + `1x60`, quiet: map[string]string{"for a moment": `netwright_configuration_error` + one + `1x5 0x60`,
		"the store is silent": `netwright_configuration_error` + one + `1x60
			netwright_store_silent` + one + `1x60`,
	}},
	{alert: "NetwrightStoreOutage", on: "-", at: 11 * time.Minute, fires: storeless(20, 20, 0), says: "100% of the nodes of demo cannot use their store", quiet: map[string]string{
		"three of twenty": storeless(20, 3, 0), "tampered with": storeless(20, 20, 20), "none": storeless(20, 0, 0),
	}},
	{alert: "NetwrightStoreSilent", at: 16 * time.Minute, fires: `netwright_store_silent` + one + `1x60`, says: "node-1 has not read its store", quiet: map[string]string{"for a while": `netwright_store_silent` + one + `1x10 0x60`}},
	{alert: "NetwrightStoreSilentAtStart", at: 6 * time.Minute, fires: `netwright_store_silent` + one + `1x60
		netwright_prepared` + one + `0x60`, says: "node-1 has no network", quiet: map[string]string{
		"it goes on with what it has": `netwright_store_silent` + one + `1x60
			netwright_prepared` + one + `1x60`,
		"its store answers": `netwright_prepared` + one + `0x60`,
	}},
	{alert: "NetwrightConfigurationUntrusted", at: 2 * time.Minute, fires: `netwright_configuration_untrusted` + one + `1x10`, says: "store of node-1 has is not trusted", quiet: map[string]string{
		"the store is away": "netwright_configuration_error" + one + "1x10",
		"trusted":           `netwright_configuration_untrusted` + one + `0x10`,
	}},
	{alert: "NetwrightConfigurationFrozen", at: 31*day + 2*time.Hour, fires: `netwright_configuration_published_timestamp_seconds` + one + `60x50000`, says: "Nothing was published for node-1 for 31d", quiet: map[string]string{
		"last week":    `netwright_configuration_published_timestamp_seconds` + one + `2100000x50000`,
		"nobody knows": `netwright_prepared` + one + `1x50000`,
	}},
	{alert: "NetwrightConfigurationExpires", at: 10 * time.Minute, fires: `netwright_configuration_expiry_timestamp_seconds` + one + `172800x60`, says: "expires in 1d 23h", quiet: map[string]string{
		"in eight days": `netwright_configuration_expiry_timestamp_seconds` + one + `691200x60`, "never": `netwright_prepared` + one + `1x60`,
	}},
	{alert: "NetwrightConfigurationWaiting", at: day + time.Minute, fires: `netwright_configuration_waiting{instance="node-1", class="restart"} 1x2000`, says: "(restart)", quiet: map[string]string{
		"until the night": `netwright_configuration_waiting{instance="node-1", class="restart"} 1x600 0x2000`,
	}},
	{alert: "NetwrightGenerationBehind", at: day + time.Minute, fires: generations(11, 12), says: "node-1 is at generation 11, others of demo", quiet: map[string]string{
		"all at one": generations(12, 12),
		"of another cluster": `netwright_node_info{instance="node-1", cluster="one"} 1x2000
			netwright_node_info{instance="node-2", cluster="two"} 1x2000
			netwright_configuration_applied_generation{instance="node-1"} 1x2000
			netwright_configuration_applied_generation{instance="node-2"} 2x2000`,
	}},
	{alert: "NetwrightHeld", at: day + time.Minute, fires: `netwright_held` + one + `1x2000`, quiet: map[string]string{"for an hour": `netwright_held` + one + `1x60 0x2000`}},
	{alert: "NetwrightPaused", at: 4*time.Hour + time.Minute, fires: `netwright_paused` + one + `1x300`, quiet: map[string]string{"for an hour": `netwright_paused` + one + `1x60 0x300`}},
	{alert: "NetwrightCertificateExpires", at: 70 * time.Minute, fires: `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 500000x100`,
		says: "etcd-client on node-1 expires in 5d", quiet: map[string]string{
			"renewed":       `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 500000x30 9000000x100`,
			"in two months": `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 5000000x100`,
			"renewed before": `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 500000x100
				netwright_certificate_renewal_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 300000x100`,
		}},
	{alert: "NetwrightCertificateExpires", at: 3 * time.Hour, fires: `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 500000x200
		netwright_certificate_renewal_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 3600x200`, says: "etcd-client on node-1 expires in 5d", quiet: map[string]string{
		"renewed at last": `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 500000x200
			netwright_certificate_renewal_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 3600x100 300000x100`,
	}},
	{alert: "NetwrightCertificateRenewalLate", at: 8 * time.Hour, fires: `netwright_certificate_renewal_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 60x600`, says: "etcd-client on node-1 should have been renewed 7h", quiet: map[string]string{
		"renewed after an hour": `netwright_certificate_renewal_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 60x60 9000000x600`,
		"nobody renews it":      `netwright_certificate_expiry_timestamp_seconds{instance="node-1", name="etcd-client", ca="false"} 5000000x600`,
	}},
	{alert: "NetwrightCertificateProblem", at: 61 * time.Minute, fires: `netwright_certificate_problem{instance="node-1", name="etcd-client", ca="false"} 1x90`, quiet: map[string]string{
		"none": `netwright_certificate_problem{instance="node-1", name="etcd-client", ca="false"} 0x90`,
	}},
	{alert: "NetwrightStoreFails", at: 90 * time.Minute, fires: requests("failed", "0+3x120", "0+1x120"), quiet: map[string]string{
		"one of three":      requests("failed", "0+1x120", "0+2x120"),
		"not modified":      requests("not_modified", "0+9x120", "0+1x120"),
		"nothing is asked":  requests("failed", "5x120", "5x120"),
		"a directory store": `netwright_prepared` + one + `1x120`,
	}},
}

func TestAlerts(t *testing.T) {
	var tried []string
	for _, c := range cases {
		tried = append(tried, c.alert)
		t.Run(c.alert, func(t *testing.T) {
			on := c.on
			switch on {
			case "":
				on = "node-1"
			case "-":
				on = ""
			}
			text, fires := evaluate(t, c.fires, c.at)[c.alert+" "+on]
			if !fires || !strings.Contains(text, c.says) || strings.Contains(text, "<no value>") || strings.Contains(text, "<error") {
				t.Errorf("fires: %v, and says %q; want %q in it", fires, text, c.says)
			}
			for name, series := range c.quiet {
				for key, text := range evaluate(t, series, c.at) {
					if strings.HasPrefix(key, c.alert+" ") {
						t.Errorf("%s: it fires on %q: %s", name, key, text)
					}
				}
			}
			if len(c.quiet) == 0 {
				t.Error("there is no case in which it does not fire")
			}
		})
	}
	for _, name := range names(t) {
		if !slices.Contains(tried, name) {
			t.Errorf("%s has no case", name)
		}
	}
}

// A store that a fleet cannot use causes one alert, however long that lasts. A store that only one
// node cannot use causes an alert of that node.
func TestAStoreOutageIsOneAlert(t *testing.T) {
	for name, c := range map[string]struct {
		failing int
		want    []string
	}{
		"all nodes": {20, []string{"NetwrightStoreOutage "}},
		"one node":  {1, []string{"NetwrightConfigurationOld node-0", "NetwrightStoreFails node-0", "NetwrightStoreSilent node-0"}},
	} {
		got := slices.Sorted(maps.Keys(evaluate(t, storeless(20, c.failing, 0), 3*time.Hour)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q fire, want %q", name, got, c.want)
		}
	}
}
