package deploy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// clusterVariable names the folder where "make cluster" puts a control plane's programs and the types of others' objects.
const clusterVariable = "QUARTET_CLUSTER"

// cluster is a control plane with nodes that run nothing: kwok says of each pod that it is ready.
type cluster struct {
	t          *testing.T
	bin        string
	dir        string
	kubeconfig string
}

// startCluster starts a control plane, which dies with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	bin := os.Getenv(clusterVariable)
	if bin == "" {
		t.Skip(clusterVariable + " names no control plane; make cluster installs one")
	}
	c := &cluster{t: t, bin: bin, dir: t.TempDir()}
	c.kubeconfig = c.file("kubeconfig", "")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer := c.file("sa.key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	token := rand.Text()
	tokens := c.file("tokens.csv", token+",admin,admin,system:masters\n")
	etcd, peers, port := "http://"+freeAddr(t), "http://"+freeAddr(t), portOf(freeAddr(t))
	c.start("etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	c.start("kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", filepath.Join(c.dir, "certs"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", signer, "--service-account-signing-key-file", signer,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24")
	c.kubeconfig = c.file("kubeconfig", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:%s", "insecure-skip-tls-verify": true}}],
		"users": [{"name": "c", "user": {"token": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}`, port, token))
	c.eventually("the API server is ready", func() error { _, err := c.try("get", "--raw", "/readyz"); return err })
	c.start("kube-controller-manager", "--kubeconfig", c.kubeconfig, "--service-account-private-key-file", signer, "--use-service-account-credentials=false",
		"--leader-elect=false", "--secure-port", portOf(freeAddr(t)), "--bind-address", "127.0.0.1", "--cert-dir", filepath.Join(c.dir, "kcm"))
	c.start("kube-scheduler", "--kubeconfig", c.kubeconfig, "--leader-elect=false", "--secure-port", portOf(freeAddr(t)), "--bind-address", "127.0.0.1",
		"--cert-dir", filepath.Join(c.dir, "scheduler"))
	c.start("kwok", "--kubeconfig", c.kubeconfig, "--config", filepath.Join(c.bin, "stages.yaml"), "--manage-all-nodes=true", "--server-address", freeAddr(t))
	for i := range 3 {
		c.apply(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-%d", "labels": {"kubernetes.io/hostname": "node-%[1]d",
			"topology.kubernetes.io/zone": "zone-%[1]d"}}, "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"},
			"capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"}}}`, i))
	}
	for _, file := range []string{"certificates", "issuers", "podmonitors"} {
		c.apply(c.types(file))
	}
	for _, name := range []string{"certificates.cert-manager.io", "issuers.cert-manager.io", "podmonitors.monitoring.coreos.com"} {
		c.kubectl("wait", "--for=condition=Established", "crd/"+name, "--timeout=1m")
	}
	return c
}

// types returns a custom resource definition without its labels, which are templates of a chart.
func (c *cluster) types(file string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.bin, "types", file+".yaml"))
	if err != nil {
		c.t.Fatal(err)
	}
	var definition map[string]any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		c.t.Fatal(err)
	}
	delete(definition["metadata"].(map[string]any), "labels")
	text, err = json.Marshal(definition)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c *cluster) file(name, text string) string {
	c.t.Helper()
	name = filepath.Join(c.dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// start starts a program, which is killed when the test ends; if the test failed, the end of what the program said is told.
func (c *cluster) start(name string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, c.dir
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if c.t.Failed() {
			said := output.Bytes()
			c.t.Logf("%s: %s", name, said[max(0, len(said)-3000):])
		}
	})
}

// run runs a command in a folder, this one if it is empty, with an input, where the programs of the cluster, and quartet, are found.
func (c *cluster) run(dir, input, name string, args ...string) (string, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
	defer cancel()
	if name == "kubectl" {
		name = filepath.Join(c.bin, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+c.dir, "PATH="+c.bin+":"+filepath.Dir(quartet(c.t))+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(input)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (c *cluster) try(args ...string) (string, error) { return c.run("", "", "kubectl", args...) }

// kubectl runs kubectl and wants it to work.
func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// apply creates or changes what a text has; the server refuses a field that it does not know.
func (c *cluster) apply(text string, args ...string) string {
	c.t.Helper()
	out, err := c.run("", text, "kubectl", append([]string{"apply", "--server-side", "--validate=strict", "-f", "-"}, args...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// get reads an object or a list.
func (c *cluster) get(into any, args ...string) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.kubectl(append([]string{"get", "-o", "json"}, args...)...)), into); err != nil {
		c.t.Fatal(err)
	}
}

// eventually tries until it works, for at most two minutes: the cluster's processes have a clock of their own.
func (c *cluster) eventually(what string, try func() error) {
	c.t.Helper()
	var err error
	for due := time.Now().Add(2 * time.Minute); time.Now().Before(due); time.Sleep(200 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	c.t.Fatalf("%s: %v", what, err)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// TestAnAPIServerTakesTheManifests applies the overlays to a real control plane, which checks fields, values and Pod Security, makes
// pods of them, and scales and drains them.
func TestAnAPIServerTakesTheManifests(t *testing.T) {
	c := startCluster(t)
	for _, overlay := range []string{"dev", "production"} {
		t.Run(overlay, func(t *testing.T) {
			c.t = t
			folder, namespace := manifests+"overlays/"+overlay, map[string]string{"dev": "quartet-dev", "production": "quartet"}[overlay]
			c.kubectl("apply", "--server-side", "-f", folder+"/namespace.yaml")
			if out := c.kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-k", folder); strings.Contains(out, "Warning") {
				t.Errorf("the server warns:\n%s", out)
			}
			c.kubectl("apply", "--server-side", "--validate=strict", "-k", folder)
			c.kubectl("-n", namespace, "wait", "--for=jsonpath={.status.readyReplicas}", "deployment", "--all", "--timeout=1m")
			c.endpoints(namespace)
			// A second time, nothing changes.
			before := c.generations(namespace)
			c.kubectl("apply", "--server-side", "--validate=strict", "-k", folder)
			if after := c.generations(namespace); before != after {
				t.Errorf("applying again changed %s into %s", before, after)
			}
		})
	}
	t.Run("chart", func(t *testing.T) {
		c.t = t
		const namespace = "quartet-chart"
		c.apply(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "` + namespace + `", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`)
		for _, text := range chartFiles(t, namespace, nil) {
			if strings.Contains(text, "kind:") { // not one of the chart's templates
				if out := c.apply(text, "-n", namespace); strings.Contains(out, "Warning") {
					t.Errorf("the server warns:\n%s", out)
				}
			}
		}
		c.kubectl("-n", namespace, "wait", "--for=jsonpath={.status.readyReplicas}", "deployment", "--all", "--timeout=1m")
		c.endpoints(namespace)
	})
	c.t = t
	t.Run("budgets", func(t *testing.T) {
		c.t = t
		c.eventually("budgets", func() error {
			var list policyv1.PodDisruptionBudgetList
			c.get(&list, "-n", "quartet", "pdb")
			for _, b := range list.Items {
				if s := b.Status; s.ExpectedPods < 2 || s.DisruptionsAllowed != 1 {
					return fmt.Errorf("%s: %d pods, %d may be disrupted", b.Name, s.ExpectedPods, s.DisruptionsAllowed)
				}
			}
			return nil
		})
	})
}

// endpoints starts a pod of another program with the component of the gateway, and checks that it gets no calls.
func (c *cluster) endpoints(namespace string) {
	c.t.Helper()
	c.apply(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign", "namespace": %q, "labels": {"app.kubernetes.io/component": "gateway"}},
		"spec": {"automountServiceAccountToken": false, "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{"name": "c", "image": "other", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}`, namespace))
	c.kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/foreign", "--timeout=1m")
	for _, role := range roles(c.t) {
		c.eventually("endpoints of "+role, func() error {
			var pods corev1.PodList
			c.get(&pods, "-n", namespace, "pods", "-l", component+"="+role+",app.kubernetes.io/name=quartet")
			var found discoveryv1.EndpointSliceList
			c.get(&found, "-n", namespace, "endpointslices", "-l", "kubernetes.io/service-name=quartet-"+role)
			var want, got []string
			for _, p := range pods.Items {
				want = append(want, p.Name)
			}
			for _, s := range found.Items {
				for _, e := range s.Endpoints {
					got = append(got, e.TargetRef.Name)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if len(want) == 0 || !slices.Equal(got, want) {
				return fmt.Errorf("pods %v, endpoints %v", want, got)
			}
			return nil
		})
	}
	c.kubectl("-n", namespace, "delete", "pod", "foreign", "--wait=false")
}

// generations are the generations of all Deployments: they rise when a specification changes.
func (c *cluster) generations(namespace string) string {
	c.t.Helper()
	return c.kubectl("-n", namespace, "get", "deployments", "-o", "jsonpath={range .items[*]}{.metadata.name}={.metadata.generation} {end}")
}

// TestAnAPIServerRefusesAPodWithRights shows that the namespaces refuse what the manifests avoid.
func TestAnAPIServerRefusesAPodWithRights(t *testing.T) {
	c := startCluster(t)
	c.kubectl("apply", "--server-side", "-f", manifests+"overlays/production/namespace.yaml")
	_, err := c.run("", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "quartet"},
		"spec": {"containers": [{"name": "c", "image": "other"}]}}`, "kubectl", "apply", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("a pod that may run as root: %v", err)
	}
	_, err = c.run("", `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "quartet"}, "spec": {"replica": 1}}`,
		"kubectl", "apply", "--server-side", "--validate=strict", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("a field that does not exist: %v", err)
	}
}

// operating is the page whose commands in blocks of "sh cluster" are run.
const operating = repository + "/docs/operate.md"

// TestAnAPIServerTakesTheStepsOfThePage runs the page's commands for a cluster, in their order.
func TestAnAPIServerTakesTheStepsOfThePage(t *testing.T) {
	c := startCluster(t)
	page, err := os.ReadFile(operating)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "deploy"), filepath.Join(dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```sh cluster\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	for _, block := range blocks {
		commands, _, _ := strings.Cut(block, "```")
		if out, err := c.run(dir, commands, "bash", "-euo", "pipefail", "-s"); err != nil {
			t.Fatalf("%s%v", commands, err)
		} else if strings.Contains(out, "Warning") {
			t.Errorf("%s%s", commands, out)
		}
	}
	for _, secret := range []string{"quartet", "quartet-tokens", "quartet-scope-key", "quartet-scope-keys"} {
		c.kubectl("-n", "quartet", "get", "secret", secret)
	}
	c.kubectl("-n", "quartet", "wait", "--for=jsonpath={.status.readyReplicas}", "deployment", "--all", "--timeout=1m")
}
