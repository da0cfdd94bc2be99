// Runs Kubernetes's own validation on configurations of its programs. Reads a JSON list of
// {kind, text} and writes a list of what is wrong with each, empty if nothing is.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/audit/policy"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logs "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/pkg/credentialprovider/plugin"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	kubeletvalidation "k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	proxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	proxyscheme "k8s.io/kubernetes/pkg/proxy/apis/config/scheme"
	proxyvalidation "k8s.io/kubernetes/pkg/proxy/apis/config/validation"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulerscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulervalidation "k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	podsecurityload "k8s.io/pod-security-admission/admission/api/load"
	podsecurityvalidation "k8s.io/pod-security-admission/admission/api/validation"
)

var folder string

func decoded[T runtime.Object](decoder runtime.Decoder, data []byte) (T, error) {
	var none T
	object, err := runtime.Decode(decoder, data)
	if err != nil {
		return none, err
	}
	of, ok := object.(T)
	if !ok {
		return none, fmt.Errorf("another kind: %T", object)
	}
	return of, nil
}

func kubelet(data []byte) error {
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	config, err := decoded[*kubeletconfig.KubeletConfiguration](codecs.UniversalDecoder(), data)
	if err != nil {
		return err
	}
	gates := utilfeature.DefaultFeatureGate.DeepCopy()
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return err
	}
	return kubeletvalidation.ValidateKubeletConfiguration(config, gates)
}

func proxy(data []byte) error {
	config, err := decoded[*proxyconfig.KubeProxyConfiguration](proxyscheme.Codecs.UniversalDecoder(), data)
	if err != nil {
		return err
	}
	return proxyvalidation.Validate(config).ToAggregate()
}

func scheduler(data []byte) error {
	config, err := decoded[*schedulerconfig.KubeSchedulerConfiguration](schedulerscheme.Codecs.UniversalDecoder(), data)
	if err != nil {
		return err
	}
	if err := schedulervalidation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return err
	}
	return nil
}

func authentication(data []byte) error {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	config, err := decoded[*apiserverapi.AuthenticationConfiguration](decoder, data)
	if err != nil {
		return err
	}
	return validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), config, nil).ToAggregate()
}

func authorization(data []byte) error {
	_, err := authorizer.LoadAndValidateData(data, authorizationcel.NewDefaultCompiler(), nil)
	return err
}

func audit(data []byte) error {
	_, err := policy.LoadPolicyFromBytes(data)
	return err
}

func podSecurity(data []byte) error {
	config, err := podsecurityload.LoadFromData(data)
	if err != nil {
		return err
	}
	return podsecurityvalidation.ValidatePodSecurityConfiguration(config).ToAggregate()
}

// The programs of the providers are missing here, which is found after everything else.
func credentialProviders(data []byte) error {
	file := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	err := plugin.RegisterCredentialProviderPlugins(file, folder, nil, nil)
	if err != nil && strings.Contains(err.Error(), "did not exist") {
		return nil
	}
	return err
}

var judges = map[string]func([]byte) error{
	"AuthenticationConfiguration": authentication,
	"AuthorizationConfiguration":  authorization,
	"CredentialProviderConfig":    credentialProviders,
	"KubeProxyConfiguration":      proxy,
	"KubeSchedulerConfiguration":  scheduler,
	"KubeletConfiguration":        kubelet,
	"PodSecurityConfiguration":    podSecurity,
	"Policy":                      audit,
}

func judge(kind string, text string) (said string) {
	defer func() {
		if problem := recover(); problem != nil {
			said = fmt.Sprint("panic: ", problem)
		}
	}()
	if err := judges[kind]([]byte(text)); err != nil {
		return err.Error()
	}
	return ""
}

func main() {
	err := logs.AddFeatureGates(utilfeature.DefaultMutableFeatureGate)
	if err != nil {
		panic(err)
	}
	if folder, err = os.MkdirTemp("", "providers-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	var asked []struct{ Kind, Text string }
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := make([]string, len(asked))
	for i, one := range asked {
		answers[i] = judge(one.Kind, one.Text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
