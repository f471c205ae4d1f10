package host

import (
	"testing"
	"time"
)

func TestPodLog(t *testing.T) {
	const made = `1795000000.250000 node-1 containerd[57]: time="2026-11-18T11:06:40.2Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:default,Attempt:0,} returns sandbox id \"0a1b\""` + "\n"
	const failed = `1795000010.500000 node-1 containerd[57]: time="2026-11-18T11:06:50.5Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:default,Attempt:0,} failed, error" error="rpc error: code = Unknown desc = failed to setup network for sandbox \"0a1b\": plugin type=\"bridge\" failed (add): no addresses"` + "\n"
	const removed = `1795000020.000000 node-1 containerd[57]: time="2026-11-18T11:07:00Z" level=info msg="RemovePodSandbox \"0a1b\" returns successfully"` + "\n"
	const other = `1795000021.000000 node-1 containerd[57]: time="2026-11-18T11:07:01Z" level=info msg="StopPodSandbox for \"0a1b\""` + "\n"
	const crio = "1795000030.000000 node-1 crio[9]: Ran pod sandbox 0a1b with infra container: default/web/POD\n1795000031.000000 node-1 crio[9]: Removed pod sandbox: 0a1b\n"
	const crioFailed = "1795000032.000000 node-1 crio[9]: Error adding pod default_web to CNI network \"cbr0\": no addresses\n"
	for journal, want := range map[string]PodLog{
		"":                             {},
		made + removed + other:         {Made: 1, Removed: 1},
		failed + made:                  {Made: 1, Failed: 1, FailedAt: time.UnixMicro(1795000010500000), Failure: `rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b": plugin type="bridge" failed (add): no addresses`},
		made + failed:                  {Made: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000010500000), Failure: `rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b": plugin type="bridge" failed (add): no addresses`},
		crio:                           {Made: 1, Removed: 1},
		crio + crioFailed + "no stamp": {Made: 1, Removed: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000032000000), Failure: `Error adding pod default_web to CNI network "cbr0": no addresses`},
	} {
		if got := podLog([]byte(journal)); got != want {
			t.Errorf("%s\ngot  %+v\nwant %+v", journal, got, want)
		}
	}
}
