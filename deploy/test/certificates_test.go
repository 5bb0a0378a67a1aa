package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tlsFolder is where pods find their credentials.
const tlsFolder = "/tls"

// tlsSecret returns the name of the Secret that a pod's first container sees at tlsFolder, if the user of the pod can read it.
func tlsSecret(pod corev1.PodSpec) string { return secretAt(pod, tlsFolder) }

// secretAt returns the name of the Secret that a pod's first container sees at a folder, if the user of the pod can read it.
func secretAt(pod corev1.PodSpec, folder string) string {
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if m.MountPath == folder && m.ReadOnly && v.Name == m.Name && v.Secret != nil &&
				pod.SecurityContext.FSGroup != nil && *v.Secret.DefaultMode == 0o440 {
				return v.Secret.SecretName
			}
		}
	}
	return ""
}

// certificate and issuer are what the manifests use of cert-manager's types of these names.
type (
	certificate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              certificateSpec `json:"spec"`
	}
	certificateSpec struct {
		SecretName  string   `json:"secretName"`
		CommonName  string   `json:"commonName"`
		IsCA        bool     `json:"isCA"`
		Duration    string   `json:"duration"`
		RenewBefore string   `json:"renewBefore"`
		Usages      []string `json:"usages"`
		DNSNames    []string `json:"dnsNames"`
		IPAddresses []string `json:"ipAddresses"`
		URIs        []string `json:"uris"`
		PrivateKey  struct {
			Algorithm      string `json:"algorithm"`
			Size           int    `json:"size"`
			RotationPolicy string `json:"rotationPolicy"`
		} `json:"privateKey"`
		IssuerRef struct {
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"issuerRef"`
	}
	issuer struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SelfSigned *struct{} `json:"selfSigned"`
			CA         *struct {
				SecretName string `json:"secretName"`
			} `json:"ca"`
		} `json:"spec"`
	}
)

// rendered returns the objects of a kustomization, by kind and name. In its text, %[1]s stands for the path of the
// manifests.
func rendered(t *testing.T, kustomization string) map[string]any {
	t.Helper()
	folder := t.TempDir()
	from, err := filepath.Abs(manifests)
	if err != nil {
		t.Fatal(err)
	}
	if from, err = filepath.Rel(folder, from); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(kustomization, from)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := make(map[string]any)
	for _, o := range renderAt(t, folder) {
		objects[o.kind+"/"+o.name] = o.value
	}
	return objects
}

func TestCertManagerMakesTheSecretsOfThePods(t *testing.T) {
	objects := rendered(t, "resources: [%[1]s/overlays/dev]\ncomponents: [%[1]s/components/cert-manager]\n")
	made := make(map[string]bool)
	root, _ := objects["Certificate/quartet-ca"].(*certificate)
	if root == nil || !root.Spec.IsCA || root.Spec.PrivateKey.RotationPolicy != "Never" || !slices.Contains(root.Spec.Usages, "cert sign") {
		t.Fatalf("the root is %+v", root)
	}
	if i, _ := objects["Issuer/"+root.Spec.IssuerRef.Name].(*issuer); i == nil || i.Spec.SelfSigned == nil {
		t.Error("no self-signed issuer signs the root")
	}
	for _, role := range append(roles(t), "client") {
		c, _ := objects["Certificate/quartet-"+role].(*certificate)
		if c == nil {
			t.Errorf("%s has no Certificate", role)
			continue
		}
		made[c.Spec.SecretName] = true
		if i, _ := objects["Issuer/"+c.Spec.IssuerRef.Name].(*issuer); i == nil || i.Spec.CA == nil || i.Spec.CA.SecretName != root.Spec.SecretName {
			t.Errorf("%s: the issuer %q does not sign with the root", role, c.Spec.IssuerRef.Name)
		}
		if want := []string{"spiffe://quartet.local/quartet/" + role}; !slices.Equal(c.Spec.URIs, want) {
			t.Errorf("%s: URIs are %v, want %v", role, c.Spec.URIs, want)
		}
		if !slices.Contains(c.Spec.Usages, "client auth") || c.Spec.IsCA || c.Spec.PrivateKey.RotationPolicy != "Always" {
			t.Errorf("%s: the certificate is %+v", role, c.Spec)
		}
		serves := role != "client"
		if slices.Contains(c.Spec.Usages, "server auth") != serves || slices.Contains(c.Spec.DNSNames, "quartet-"+role) != serves {
			t.Errorf("%s: usages %v, names %v", role, c.Spec.Usages, c.Spec.DNSNames)
		}
	}
	for name, value := range objects {
		var pod corev1.PodTemplateSpec
		switch v := value.(type) {
		case *appsv1.Deployment:
			pod = v.Spec.Template
		case *batchv1.Job:
			pod = v.Spec.Template
		default:
			continue
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret != nil && !made[volume.Secret.SecretName] && volume.Name == "tls" {
				t.Errorf("%s mounts %s, which nothing makes", name, volume.Secret.SecretName)
			}
		}
	}
	if job, _ := objects["Job/load-demo"].(*batchv1.Job); job == nil || tlsSecret(job.Spec.Template.Spec) != "quartet-client-tls" {
		t.Error("the job that loads the demo has no certificate")
	}
}

// 'quartet certs' makes the Secrets where there is no cert-manager.
func TestProgramMakesTheSecretsOfThePods(t *testing.T) {
	out, err := exec.Command(quartet(t), "certs", "--kubernetes", "quartet-dev").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []corev1.Secret }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	made := make(map[string]corev1.Secret)
	for _, s := range list.Items {
		made[s.Name] = s
	}
	if len(made["quartet-scope-key"].Data["key.jwk"]) == 0 || len(made["quartet-scope-keys"].Data["keys.jwks"]) == 0 {
		t.Error("the keys of scopes are missing")
	}
	for _, role := range append(roles(t), "client") {
		s, found := made["quartet-"+role+"-tls"]
		if !found || s.Namespace != "quartet-dev" || s.Type != corev1.SecretTypeTLS {
			t.Errorf("%s: the Secret is %s %s/%s", role, s.Type, s.Namespace, s.Name)
		}
		for _, file := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, "ca.crt"} {
			if len(s.Data[file]) == 0 {
				t.Errorf("%s: the Secret has no %s", role, file)
			}
		}
	}
}

func TestStateKeysAreMountedWhereStateIsKept(t *testing.T) {
	objects := rendered(t, "resources: [%[1]s/base]\ncomponents: [%[1]s/components/state-keys]\n")
	var file string
	for name, o := range objects {
		switch v := o.(type) {
		case *corev1.ConfigMap:
			file = v.Data["QUARTET_STATE_KEYS"]
		case *appsv1.Deployment:
			want := "quartet-state-keys"
			if v.Name == "quartet-router" {
				want = "" // it keeps no state
			}
			if got := secretAt(v.Spec.Template.Spec, "/state-keys"); got != want {
				t.Errorf("%s: the Secret with the state keys is %q, want %q", name, got, want)
			}
		}
	}
	if file != "/state-keys/state-keys.json" {
		t.Errorf("the pods read the keys from %q", file)
	}
}

func TestTheHTTPComponentOpensAPortOfTheGateway(t *testing.T) {
	objects := rendered(t, "resources: [%[1]s/base]\ncomponents: [%[1]s/components/http]\n")
	open := map[string]bool{}
	for name, o := range objects {
		switch v := o.(type) {
		case *corev1.ConfigMap:
			if v.Data["QUARTET_HTTP_LISTEN"] != ":7380" {
				t.Errorf("the gateway listens on %q", v.Data["QUARTET_HTTP_LISTEN"])
			}
		case *corev1.Service:
			for _, p := range v.Spec.Ports {
				open[name] = open[name] || p.Port == 7380 && p.TargetPort.StrVal == "http"
			}
		case *appsv1.Deployment:
			for _, p := range v.Spec.Template.Spec.Containers[0].Ports {
				open[name] = open[name] || p.Name == "http" && p.ContainerPort == 7380
			}
		}
	}
	for name, is := range open {
		if want := strings.HasSuffix(name, "quartet-gateway"); is != want {
			t.Errorf("%s: port open %v, want %v", name, is, want)
		}
	}
}

// The component brings a server of tools that the program accepts, and that the owners of data let in.
func TestTheMCPComponentReachesTheOwnersOfData(t *testing.T) {
	objects := rendered(t, "resources: [%[1]s/overlays/production]\ncomponents: [%[1]s/components/mcp]\n")
	var server *appsv1.Deployment
	var env []string
	letIn := map[string]bool{}
	pods := make(map[string]map[string]string)
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			pods[d.Spec.Template.Labels[component]] = d.Spec.Template.Labels
		}
	}
	for _, o := range objects {
		switch v := o.(type) {
		case *appsv1.Deployment:
			if v.Name == "quartet-mcp" {
				server = v
			}
		case *corev1.ConfigMap:
			for name, value := range v.Data {
				env = append(env, name+"="+value)
			}
		case *networkingv1.NetworkPolicy:
			for _, rule := range v.Spec.Ingress {
				if slices.Contains(podsOf(t, rule.From, pods), "mcp") {
					letIn[v.Name] = true
				}
			}
		}
	}
	if want := map[string]bool{"quartet-search": true, "quartet-recommend": true, "quartet-promotions": true, "quartet-support": true}; !maps.Equal(letIn, want) {
		t.Errorf("the pods are let in by %v, want %v", letIn, want)
	}
	if server == nil {
		t.Fatal("there is no Deployment quartet-mcp")
	}
	pod := server.Spec.Template
	checkPod(t, server.Name, pod)
	checkSelector(t, "the Deployment", server.Spec.Selector.MatchLabels, pod.Labels)
	for folder, want := range map[string]string{"/tls": "quartet-mcp-tls", "/tokens": "quartet-tokens", "/scope-key": "quartet-scope-key"} {
		if got := secretAt(pod.Spec, folder); got != want {
			t.Errorf("the Secret at %s is %q, want %q", folder, got, want)
		}
	}
	cmd := exec.Command(quartet(t), append(slices.Clone(pod.Spec.Containers[0].Args), "--help")...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program refuses its arguments: %v\n%s", err, out)
	}
}
