package deploy

import (
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const manifests = "../k8s/"

// object is what one rendered object decoded into.
type object struct {
	kind, name string
	value      any
}

// render runs kustomize over a folder of the manifests and decodes each object strictly: a field that Kubernetes does not know fails.
func render(t *testing.T, folder string) []object {
	t.Helper()
	return renderAt(t, manifests+folder)
}

func renderAt(t *testing.T, folder string) []object {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("render %s: %v", folder, err)
	}
	var objects []object
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		o := object{kind: r.GetKind(), name: r.GetName()}
		if o.value, err = typeOf(o.kind); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		if err := yaml.UnmarshalStrict(text, o.value); err != nil {
			t.Errorf("%s %s: %v", o.kind, o.name, err)
		}
		objects = append(objects, o)
	}
	return objects
}

func typeOf(kind string) (any, error) {
	switch kind {
	case "Deployment":
		return &appsv1.Deployment{}, nil
	case "Job":
		return &batchv1.Job{}, nil
	case "Service":
		return &corev1.Service{}, nil
	case "ServiceAccount":
		return &corev1.ServiceAccount{}, nil
	case "ConfigMap":
		return &corev1.ConfigMap{}, nil
	case "Namespace":
		return &corev1.Namespace{}, nil
	case "PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}, nil
	case "HorizontalPodAutoscaler":
		return &autoscalingv2.HorizontalPodAutoscaler{}, nil
	case "NetworkPolicy":
		return &networkingv1.NetworkPolicy{}, nil
	case "PriorityClass":
		return &schedulingv1.PriorityClass{}, nil
	case "PodMonitor":
		return &podMonitor{}, nil
	case "Certificate":
		return &certificate{}, nil
	case "Issuer":
		return &issuer{}, nil
	}
	return nil, fmt.Errorf("no type is known for kind %q", kind)
}

// podMonitor is what the manifests use of a PodMonitor, whose types have a module that is not worth its weight.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port string `json:"port"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

func TestManifestsDecodeAndAreHardened(t *testing.T) {
	for _, folder := range []string{"base", "overlays/dev", "overlays/production"} {
		t.Run(folder, func(t *testing.T) {
			for _, o := range render(t, folder) {
				switch v := o.value.(type) {
				case *appsv1.Deployment:
					checkPod(t, o.name, v.Spec.Template)
				case *batchv1.Job:
					checkPod(t, o.name, v.Spec.Template)
				}
			}
		})
	}
}

// checkPod checks that a pod runs with as little as it needs.
func checkPod(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	spec := pod.Spec
	if sc := spec.SecurityContext; sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.SeccompProfile == nil {
		t.Errorf("%s: the pod may run as root or without seccomp", name)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("%s: the pod gets a token that it does not need", name)
	}
	for _, c := range spec.Containers {
		sc := c.SecurityContext
		if sc == nil || sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem ||
			sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation ||
			sc.Capabilities == nil || len(sc.Capabilities.Drop) != 1 || sc.Capabilities.Drop[0] != "ALL" {
			t.Errorf("%s: container %s can write, escalate or has capabilities", name, c.Name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: container %s has no memory limit or CPU request", name, c.Name)
		}
		for _, arg := range c.Args {
			if folder, ok := strings.CutPrefix(arg, "--index-folder="); ok && !isBoundedFolder(spec, c, folder) {
				t.Errorf("%s: container %s cannot write to %s, or without limit", name, c.Name, folder)
			}
		}
	}
}

// roles asks the program for its roles.
// isBoundedFolder reports whether a container can write to a folder, up to a size.
func isBoundedFolder(pod corev1.PodSpec, c corev1.Container, folder string) bool {
	for _, m := range c.VolumeMounts {
		for _, v := range pod.Volumes {
			if m.MountPath == folder && !m.ReadOnly && v.Name == m.Name && v.EmptyDir != nil && !v.EmptyDir.SizeLimit.IsZero() {
				return true
			}
		}
	}
	return false
}

func roles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(quartet(t), "serve").CombinedOutput()
	_, list, found := strings.Cut(string(out), "give one role of: ")
	list, _, ended := strings.Cut(list, ";")
	if err == nil || !found || !ended {
		t.Fatalf("quartet serve does not name its roles: %v\n%s", err, out)
	}
	return strings.Split(list, ", ")
}

func TestBaseServesEveryRole(t *testing.T) {
	deployments := make(map[string]*appsv1.Deployment)
	services := make(map[string]*corev1.Service)
	var settings map[string]string
	for _, o := range render(t, "base") {
		switch v := o.value.(type) {
		case *appsv1.Deployment:
			deployments[o.name] = v
		case *corev1.Service:
			services[o.name] = v
		case *corev1.ConfigMap:
			settings = v.Data
		}
	}
	if _, found := settings["QUARTET_INSECURE"]; found || settings["QUARTET_TLS"] != tlsFolder {
		t.Errorf("the pods listen insecurely: %q", settings)
	}
	for _, role := range roles(t) {
		d, s := deployments["quartet-"+role], services["quartet-"+role]
		if d == nil || s == nil {
			t.Errorf("%s: no Deployment or no Service", role)
			continue
		}
		if s.Spec.ClusterIP != corev1.ClusterIPNone {
			t.Errorf("%s: the Service is not headless, so clients would stick to one pod", role)
		}
		if d.Spec.MinReadySeconds < 30 {
			t.Errorf("%s: an old pod may go %d s after a new one is ready, before clients have seen the new one in DNS", role, d.Spec.MinReadySeconds)
		}
		if len(s.Spec.Ports) != 1 {
			t.Errorf("%s: the Service has %d ports, want 1", role, len(s.Spec.Ports))
			continue
		}
		port := s.Spec.Ports[0].Port
		c := d.Spec.Template.Spec.Containers[0]
		if want := fmt.Sprintf("--listen=:%d", port); !slices.Contains(c.Args, want) {
			t.Errorf("%s: the container's arguments are %q, want %s among them", role, c.Args, want)
		}
		if got, want := settings["QUARTET_"+strings.ToUpper(role)+"_ADDR"], fmt.Sprintf("dns:///%s:%d", s.Name, port); role != "gateway" && got != want {
			t.Errorf("%s: callers are told %q, want %q", role, got, want)
		}
		for what, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
			if probe == nil || probe.GRPC == nil || fmt.Sprintf(":%d", probe.GRPC.Port) != settings["QUARTET_HEALTH_LISTEN"] || probe.GRPC.Port == port {
				t.Errorf("%s: the %s probe is not gRPC on %s", role, what, settings["QUARTET_HEALTH_LISTEN"])
			}
		}
		if got, want := tlsSecret(d.Spec.Template.Spec), "quartet-"+role+"-tls"; got != want {
			t.Errorf("%s: the Secret at %s is %q, want %q", role, tlsFolder, got, want)
		}
		if got := secretAt(d.Spec.Template.Spec, path.Dir(settings["QUARTET_TOKENS"])); got != "quartet-tokens" {
			t.Errorf("%s: the Secret with the callers is %q", role, got)
		}
		if got := secretAt(d.Spec.Template.Spec, path.Dir(settings["QUARTET_SCOPE_KEYS"])); got != "quartet-scope-keys" {
			t.Errorf("%s: the Secret with the public keys of scopes is %q", role, got)
		}
		if got := secretAt(d.Spec.Template.Spec, path.Dir(settings["QUARTET_SCOPE_KEY"])); (got == "quartet-scope-key") != (role == "gateway") || got != "" && role != "gateway" {
			t.Errorf("%s: the Secret with the private key of scopes is %q", role, got)
		}
		checkSelector(t, role+": the Service", s.Spec.Selector, d.Spec.Template.Labels)
		checkSelector(t, role+": the Deployment", d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
		for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
			checkSelector(t, role+": a spread constraint", c.LabelSelector.MatchLabels, d.Spec.Template.Labels)
		}
	}
}

// checkSelector checks that a selector finds the pods with these labels, and no pods of another program or installation.
func checkSelector(t *testing.T, what string, selector, labels map[string]string) {
	t.Helper()
	for _, key := range []string{"component", "name", "instance"} {
		if _, ok := selector["app.kubernetes.io/"+key]; !ok {
			t.Errorf("%s selects whatever the %s of a pod is", what, key)
		}
	}
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("%s selects %s=%s, which its pods do not have", what, key, value)
		}
	}
}

// The program reads the flags of a pod, from its arguments and its ConfigMap, before it shows their help.
func TestProgramTakesTheArgumentsOfItsPods(t *testing.T) {
	for _, folder := range []string{"base", "overlays/dev", "overlays/production"} {
		var env []string
		containers := make(map[string]corev1.Container)
		for _, o := range render(t, folder) {
			switch v := o.value.(type) {
			case *appsv1.Deployment:
				containers[o.name] = v.Spec.Template.Spec.Containers[0]
			case *batchv1.Job:
				containers[o.name] = v.Spec.Template.Spec.Containers[0]
			case *corev1.ConfigMap:
				for name, value := range v.Data {
					env = append(env, name+"="+value)
				}
			}
		}
		for name, c := range containers {
			if image, _, _ := strings.Cut(path.Base(c.Image), ":"); image != "quartet" {
				continue
			}
			cmd := exec.Command(quartet(t), append(slices.Clone(c.Args), "--help")...)
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s refuses %q: %v\n%s", folder, name, c.Args, err, out)
			}
		}
	}
}
