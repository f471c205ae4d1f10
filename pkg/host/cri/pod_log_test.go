package cri

import (
	"strings"
	"testing"
	"time"
)

func TestPodLog(t *testing.T) {
	const containerd = " node-1 containerd[57]: time=\"2026-11-18T11:06:40.2Z\" "
	const made = `1795000000.250000` + containerd + `level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:default,Attempt:0,} returns sandbox id \"0a1b\""` + "\n"
	const failed = `1795000010.500000` + containerd + `level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:default,Attempt:0,} failed, error" error="rpc error: code = Unknown desc = failed to setup network for sandbox \"0a1b\": plugin type=\"bridge\" failed (add): no addresses"` + "\n"
	const named = `1795000011.000000` + containerd + `level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:why-failed-web,Uid:u,Namespace:default,Attempt:1,}"` + "\n"
	const again = `1795000012.500000` + containerd + `level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:default,Attempt:1,} returns sandbox id \"0a1c\""` + "\n"
	const stuck = `1795000019.000000` + containerd + `level=error msg="StopPodSandbox for \"0a1b\" failed" error="rpc error: code = Unknown desc = failed to destroy network"` + "\n"
	const asked = `1795000020.000000` + containerd + `level=info msg="StopPodSandbox for \"0a1b\""` + "\n"
	const stopped = `1795000021.000000` + containerd + `level=info msg="StopPodSandbox for \"0a1b\" returns successfully"` + "\n"
	const removed = `1795000022.000000` + containerd + `level=info msg="RemovePodSandbox \"0a1b\" returns successfully"` + "\n"
	words := PodLog{Made: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000010500000), Failure: `rpc error: code = Unknown desc = failed to setup network for sandbox "0a1b": plugin type="bridge" failed (add): no addresses`}

	const crio = ` node-1 crio[9]: time="2026-11-18T11:06:50Z" level=info msg="`
	const crioMade = "1795000030.000000" + crio + `Ran pod sandbox 0a1b with infra container: default/web/POD" id=4 name=/runtime.v1.RuntimeService/RunPodSandbox` + "\n"
	const crioStopped = "1795000031.000000" + crio + `Stopped pod sandbox: 0a1b" id=5 name=/runtime.v1.RuntimeService/StopPodSandbox` + "\n"
	const crioAgain = "1795000032.000000" + crio + `Stopped pod sandbox (already stopped): 0a1b" id=6 name=/runtime.v1.RuntimeService/StopPodSandbox` + "\n"
	const crioLater = "1795000035.000000" + crio + `Ran pod sandbox 0a1c with infra container: default/web/POD" id=7 name=/runtime.v1.RuntimeService/RunPodSandbox` + "\n"
	const kubelet = `1795000033.000000 node-1 kubelet[12]: E1118 11:06:53.000000      12 log.go:32] "RunPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to create pod network sandbox k8s_web(0a1b): error adding pod default_web to CNI network \"cbr0\": no addresses"` + "\n"
	const old = "1795000034.000000 node-1 kubelet[12]: E1118 11:06:54.000000      12 remote_runtime.go:116] StopPodSandbox \"0a1b\" from runtime service failed: rpc error: no plugin\n"
	byKubelet := PodLog{Made: 1, Removed: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000033000000), Failure: `rpc error: code = Unknown desc = failed to create pod network sandbox k8s_web(0a1b): error adding pod default_web to CNI network "cbr0": no addresses`}
	for _, c := range []struct {
		name, journal string
		want          PodLog
	}{
		{"nothing", "", PodLog{}},
		{"one that was stopped twice, and removed", made + asked + stopped + asked + stopped + removed, PodLog{Made: 1, Removed: 1}},
		{"made at last", made + failed + named + again, PodLog{Made: 2, Failed: 1}},
		{"not made", made + failed, words},
		{"not made since the clock was set back", failed + made + strings.Replace(failed, "1795000010", "1794000010", 1), PodLog{Made: 1, Failed: 2, LastFailed: true, FailedAt: time.UnixMicro(1794000010500000), Failure: words.Failure}},
		{"made at last, with the clock set back", failed + strings.Replace(made, "1795000000", "1794000000", 1), PodLog{Made: 1, Failed: 1}},
		{"not taken away", made + stuck, PodLog{Made: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000019000000), Failure: "rpc error: code = Unknown desc = failed to destroy network"}},
		{"taken away at last", made + stuck + stopped, PodLog{Made: 1, Removed: 1, Failed: 1}},
		{"CRI-O", crioMade + crioStopped + crioAgain, PodLog{Made: 1, Removed: 1}},
		{"CRI-O, whose failures kubelet logs", crioMade + crioStopped + kubelet, byKubelet},
		{"CRI-O, made after a failure", crioMade + kubelet + crioLater, PodLog{Made: 2, Failed: 1}},
		{"an old kubelet", crioMade + old, PodLog{Made: 1, Failed: 1, LastFailed: true, FailedAt: time.UnixMicro(1795000034000000), Failure: "rpc error: no plugin"}},
	} {
		if got := podLog([]byte(c.journal)); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
