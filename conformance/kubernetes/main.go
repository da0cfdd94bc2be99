// Prints the fields of the configurations of Kubernetes's programs, as their published Go types
// have them, as JSON. `kubernetes.ts` builds it with each minor and gathers the answers.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	apiserverv1alpha1 "k8s.io/apiserver/pkg/apis/apiserver/v1alpha1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	proxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"
	kubeletv1alpha1 "k8s.io/kubelet/config/v1alpha1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	podsecurityv1 "k8s.io/pod-security-admission/admission/api/v1"
	podsecurityv1alpha1 "k8s.io/pod-security-admission/admission/api/v1alpha1"
	podsecurityv1beta1 "k8s.io/pod-security-admission/admission/api/v1beta1"
)

var kinds = map[string]bool{
	"AdmissionConfiguration": true, "AuthenticationConfiguration": true,
	"AuthorizationConfiguration": true, "CredentialProviderConfig": true,
	"EncryptionConfiguration": true, "KubeProxyConfiguration": true,
	"KubeSchedulerConfiguration": true, "KubeletConfiguration": true,
	"PodSecurityConfiguration": true, "Policy": true,
}

// Types that read their own text, by what they take.
var readers = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():      "duration",
	reflect.TypeFor[metav1.Time]():          "time",
	reflect.TypeFor[metav1.ObjectMeta]():    "any",
	reflect.TypeFor[resource.Quantity]():    "quantity",
	reflect.TypeFor[intstr.IntOrString]():   "intOrString",
	reflect.TypeFor[runtime.RawExtension](): "any",
	reflect.TypeFor[runtime.Unknown]():      "any",
}

type fields map[string]string

var types = map[string]fields{}
var named = map[string]reflect.Type{}

// The name of a type by its module and version: "kubelet/v1beta1.KubeletConfiguration".
func nameOf(t reflect.Type) string {
	module := strings.Split(t.PkgPath(), "/")[1]
	name := fmt.Sprintf("%s/%s.%s", module, path.Base(t.PkgPath()), t.Name())
	if other, ok := named[name]; ok && other != t {
		panic("two types are named " + name)
	}
	named[name] = t
	return name
}

func describe(t reflect.Type) string {
	if what, ok := readers[t]; ok {
		return what
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + describe(t.Elem())
	case reflect.Map:
		return "{}" + describe(t.Elem())
	case reflect.Struct:
		// The types of logs, whose JSON readers take a text or a number.
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return unmarshaled(t)
		}
		name := nameOf(t)
		if _, ok := types[name]; !ok {
			types[name] = fields{}
			add(types[name], t)
		}
		return "#" + name
	case reflect.Interface:
		return "any"
	default:
		return t.Kind().String()
	}
}

func unmarshaled(t reflect.Type) string {
	switch t.Name() {
	case "TimeOrMetaDuration":
		return "durationOrNanoseconds"
	case "QuantityValue":
		return "quantity"
	}
	panic("no reader is known for " + t.String())
}

func add(to fields, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if strings.Contains(options, "inline") || (field.Anonymous && name == "") {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			add(to, inner)
			continue
		}
		if name == "" {
			name = field.Name
		}
		to[name] = describe(field.Type)
	}
}

func main() {
	scheme := runtime.NewScheme()
	for _, register := range []func(*runtime.Scheme) error{
		apiserverv1.AddToScheme, apiserverv1alpha1.AddToScheme, apiserverv1beta1.AddToScheme,
		auditv1.AddToScheme, proxyv1alpha1.AddToScheme, schedulerv1.AddToScheme,
		kubeletv1.AddToScheme, kubeletv1alpha1.AddToScheme, kubeletv1beta1.AddToScheme,
		podsecurityv1.AddToScheme, podsecurityv1alpha1.AddToScheme, podsecurityv1beta1.AddToScheme,
	} {
		if err := register(scheme); err != nil {
			panic(err)
		}
	}
	found := map[string]string{}
	for kind, t := range scheme.AllKnownTypes() {
		if kinds[kind.Kind] && kind.Version != runtime.APIVersionInternal {
			found[kind.GroupVersion().String()+" "+kind.Kind] = describe(t)[1:]
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(map[string]any{"kinds": found, "types": types}); err != nil {
		panic(err)
	}
}
