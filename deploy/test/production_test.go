package deploy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// callers are the roles that call each role, as services/suite/roles.go has them.
var callers = map[string][]string{
	"router": {"gateway"}, "search": {"gateway", "promotions", "recommend"}, "recommend": {"gateway", "promotions"},
	"promotions": {"gateway"}, "support": {"gateway", "recommend"},
}

const component = "app.kubernetes.io/component"

// podsOf returns the components that the pod selectors of a list of peers name.
func podsOf(t *testing.T, peers []networkingv1.NetworkPolicyPeer, pods map[string]map[string]string) (roles []string) {
	t.Helper()
	for _, p := range peers {
		if p.PodSelector == nil || p.NamespaceSelector != nil {
			continue
		}
		role := p.PodSelector.MatchLabels[component]
		checkSelector(t, "a network policy", p.PodSelector.MatchLabels, pods[role])
		roles = append(roles, role)
	}
	return roles
}

func TestProduction(t *testing.T) {
	pods := make(map[string]map[string]string) // labels by role
	budgets, scalers := make(map[string]bool), make(map[string]bool)
	policies := make(map[string]*networkingv1.NetworkPolicy)
	ports := make(map[string]int32)
	objects := render(t, "overlays/production")
	for _, o := range objects {
		role := strings.TrimPrefix(o.name, "quartet-")
		switch v := o.value.(type) {
		case *appsv1.Deployment:
			pods[role] = v.Spec.Template.Labels
			if v.Spec.Replicas != nil {
				t.Errorf("%s: applying the manifests undoes the autoscaler", role)
			}
			spec := v.Spec.Template.Spec
			if spec.PriorityClassName != "quartet" || v.Spec.Template.Labels["app.kubernetes.io/version"] == "" {
				t.Errorf("%s: priority class %q, labels %v", role, spec.PriorityClassName, v.Spec.Template.Labels)
			}
			checkMemory(t, role, spec.Containers[0])
			if ports := spec.Containers[0].Ports; !slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == "metrics" && p.ContainerPort == 9464 }) {
				t.Errorf("%s: no port for Prometheus among %v", role, ports)
			}
		case *corev1.Service:
			ports[role] = v.Spec.Ports[0].Port
		case *networkingv1.NetworkPolicy:
			policies[role] = v
		}
	}
	for _, o := range objects {
		role := strings.TrimPrefix(o.name, "quartet-")
		switch v := o.value.(type) {
		case *policyv1.PodDisruptionBudget:
			checkSelector(t, role+": the disruption budget", v.Spec.Selector.MatchLabels, pods[role])
			budgets[role] = true
		case *autoscalingv2.HorizontalPodAutoscaler:
			scalers[role] = v.Spec.ScaleTargetRef.Name == o.name && *v.Spec.MinReplicas >= 2
		}
	}
	calls := make(map[string][]string) // by caller
	for _, role := range roles(t) {
		if !budgets[role] || !scalers[role] {
			t.Errorf("%s: disruption budget %t, autoscaler of two or more %t", role, budgets[role], scalers[role])
		}
		p := policies[role]
		if p == nil {
			t.Errorf("%s: no network policy", role)
			continue
		}
		checkSelector(t, role+": the network policy", p.Spec.PodSelector.MatchLabels, pods[role])
		if role != "gateway" {
			from := podsOf(t, p.Spec.Ingress[0].From, pods)
			if slices.Sort(from); len(p.Spec.Ingress) != 1 || !slices.Equal(from, callers[role]) || p.Spec.Ingress[0].Ports[0].Port.IntVal != ports[role] {
				t.Errorf("%s may be called by %v at %v, want %v at %d", role, from, p.Spec.Ingress[0].Ports[0].Port, callers[role], ports[role])
			}
		}
		for _, rule := range p.Spec.Egress {
			for _, to := range podsOf(t, rule.To, pods) {
				calls[to] = append(calls[to], role)
				if rule.Ports[0].Port.IntVal != ports[to] {
					t.Errorf("%s may call %s at %v, want %d", role, to, rule.Ports[0].Port, ports[to])
				}
			}
		}
	}
	for role := range calls {
		slices.Sort(calls[role])
	}
	if !maps.EqualFunc(calls, callers, slices.Equal[[]string]) {
		t.Errorf("egress allows %v, want %v", calls, callers)
	}
}

// checkMemory checks that the Go runtime knows of the container's limit, and stays below it.
func checkMemory(t *testing.T, role string, c corev1.Container) {
	t.Helper()
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	if i < 0 {
		t.Errorf("%s: no GOMEMLIMIT", role)
		return
	}
	soft, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
	hard := c.Resources.Limits.Memory()
	if share := soft.AsApproximateFloat64() / hard.AsApproximateFloat64(); err != nil || share < 0.8 || share > 0.92 {
		t.Errorf("%s: GOMEMLIMIT %s with a limit of %s", role, c.Env[i].Value, hard)
	}
}
