package deploy

import (
	"maps"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// chartFiles renders the chart with values over its own, as the release "quartet" in a namespace.
func chartFiles(t *testing.T, namespace string, values map[string]any) map[string]string {
	t.Helper()
	chart, err := loader.Load("../helm/quartet")
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "quartet", Namespace: namespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// renderChart decodes each object of the chart strictly. The keys are kind and name.
func renderChart(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	objects := make(map[string]any)
	for file, text := range chartFiles(t, "quartet", values) {
		for _, text := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
			var id struct {
				metav1.TypeMeta   `json:",inline"`
				metav1.ObjectMeta `json:"metadata"`
			}
			if err := yaml.Unmarshal([]byte(text), &id); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			if id.Kind == "" {
				continue
			}
			value, err := typeOf(id.Kind)
			if err == nil {
				err = yaml.UnmarshalStrict([]byte(text), value)
			}
			if err != nil {
				t.Fatalf("%s %s: %v\n%s", id.Kind, id.Name, err, text)
			}
			objects[id.Kind+"/"+id.Name] = value
		}
	}
	return objects
}

// generated is the end of the name that kustomize gives a ConfigMap.
var generated = regexp.MustCompile(`^quartet-[0-9a-z]{10}$`)

// The chart with its own values makes the objects of overlays/production: whoever changes one changes the other.
func TestChartMakesTheObjectsOfProduction(t *testing.T) {
	chart, seen := renderChart(t, nil), 0
	for _, o := range render(t, "overlays/production") {
		if o.kind == "Namespace" { // Helm's --create-namespace
			continue
		}
		if o.kind == "ConfigMap" {
			o.name = generated.ReplaceAllString(o.name, "quartet")
		}
		key := o.kind + "/" + o.name
		got := chart[key]
		if got == nil {
			t.Errorf("the chart has no %s", key)
			continue
		}
		seen++
		labels := reflect.ValueOf(got).Elem().FieldByName("Labels").Interface().(map[string]string)
		for name, value := range reflect.ValueOf(o.value).Elem().FieldByName("Labels").Interface().(map[string]string) {
			if labels[name] != value {
				t.Errorf("%s: the label %s is %q, want %q", key, name, labels[name], value)
			}
		}
		for _, v := range []any{got, o.value} {
			reflect.ValueOf(v).Elem().FieldByName("ObjectMeta").SetZero()
			if d, ok := v.(*appsv1.Deployment); ok {
				d.Spec.Template.Annotations = nil
				from := d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef
				from.Name = generated.ReplaceAllString(from.Name, "quartet")
			}
		}
		if got, want := text(t, got), text(t, o.value); got != want {
			t.Errorf("%s\nof the chart:\n%s\nof kustomize:\n%s", key, got, want)
		}
	}
	if seen != len(chart) {
		t.Errorf("the chart makes %d objects, %d of them kustomize's: %v", len(chart), seen, slices.Sorted(maps.Keys(chart)))
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestValuesOfTheChart(t *testing.T) {
	chart := renderChart(t, map[string]any{
		"image": "example.com/q", "version": "v2", "gatewayHosts": []any{"ask.example.com"},
		"secrets":  map[string]any{"redis": "the-redis", "model": "the-model"},
		"services": map[string]any{"search": map[string]any{"memoryMiB": 1000}},
	})
	c := chart["Deployment/quartet-search"].(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
	if c.Image != "example.com/q:v2" || c.Env[0].Value != "900MiB" || c.Resources.Limits.Memory().String() != "1000Mi" ||
		c.EnvFrom[1].SecretRef.Name != "the-model" || c.EnvFrom[2].SecretRef.Name != "the-redis" {
		t.Errorf("the container is %s", text(t, c))
	}
	for role, want := range map[string]bool{"gateway": true, "search": false} {
		if names := chart["Certificate/quartet-"+role].(*certificate).Spec.DNSNames; slices.Contains(names, "ask.example.com") != want {
			t.Errorf("%s: host names %v", role, names)
		}
	}
}

// Without mutual TLS no pod waits for a certificate, and the program takes its settings.
func TestChartWithoutMutualTLS(t *testing.T) {
	chart := renderChart(t, map[string]any{"mtls": false})
	var env []string
	for name, value := range chart["ConfigMap/quartet"].(*corev1.ConfigMap).Data {
		env = append(env, name+"="+value)
	}
	if !slices.Contains(env, "QUARTET_INSECURE=true") {
		t.Errorf("settings: %v", env)
	}
	for key, value := range chart {
		if kind := path.Dir(key); kind == "Certificate" || kind == "Issuer" {
			t.Errorf("%s is made", key)
		}
		d, ok := value.(*appsv1.Deployment)
		if !ok {
			continue
		}
		checkPod(t, key, d.Spec.Template)
		if name := secretAt(d.Spec.Template.Spec, "/tls"); name != "" {
			t.Errorf("%s mounts %s", key, name)
		}
		cmd := exec.Command(quartet(t), append(d.Spec.Template.Spec.Containers[0].Args, "--help")...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", key, err, strings.TrimSpace(string(out)))
		}
	}
}
