// Command extension is an update extension built on the server library of Cluster API. It claims the version of a
// Machine and the memory of its host, and takes a fixed number of calls to update a Machine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooks "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
	ctrl "sigs.k8s.io/controller-runtime"
)

// The calls that one update takes: the first starts it, the last finds it done.
const callsPerUpdate = 3

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	port := flag.Int("port", server.DefaultPort, "port to listen on")
	certificates := flag.String("cert-dir", "", "folder with tls.crt and tls.key")
	memoryPath := flag.String("memory-path", "spec.memory", "the field of the infrastructure object that is the memory")
	clientCA := flag.String("client-ca-name", "", "file in the folder whose authority must have signed callers' certificates")
	flag.Parse()

	catalog := runtimecatalog.New()
	if err := hooks.AddToCatalog(catalog); err != nil {
		return err
	}
	extension, err := server.New(server.Options{
		Catalog: catalog, Host: "127.0.0.1", Port: *port, CertDir: *certificates, ClientCAName: *clientCA,
	})
	if err != nil {
		return err
	}
	updater := &updater{memory: strings.Split(*memoryPath, "."), calls: map[string]int{}}
	for _, handler := range []server.ExtensionHandler{
		{Hook: hooks.CanUpdateMachine, Name: "can-update-machine", HandlerFunc: updater.canUpdateMachine},
		{Hook: hooks.CanUpdateMachineSet, Name: "can-update-machineset", HandlerFunc: updater.canUpdateMachineSet},
		{Hook: hooks.UpdateMachine, Name: "update-machine", HandlerFunc: updater.updateMachine},
	} {
		if err := extension.AddExtensionHandler(handler); err != nil {
			return err
		}
	}
	return extension.Start(ctrl.SetupSignalHandler())
}

type updater struct {
	memory []string
	lock   sync.Mutex
	// How often each Machine has been asked for, under its name and desired spec.
	calls map[string]int
}

func (u *updater) canUpdateMachine(_ context.Context, request *hooks.CanUpdateMachineRequest, response *hooks.CanUpdateMachineResponse) {
	machine, err := claim(mustMarshal(request.Current.Machine), mustMarshal(request.Desired.Machine), []string{"spec", "version"})
	if err == nil {
		response.MachinePatch = machine
		response.InfrastructureMachinePatch, err = claim(request.Current.InfrastructureMachine.Raw, request.Desired.InfrastructureMachine.Raw, u.memory)
	}
	settle(response, err)
}

func (u *updater) canUpdateMachineSet(_ context.Context, request *hooks.CanUpdateMachineSetRequest, response *hooks.CanUpdateMachineSetResponse) {
	set, err := claim(mustMarshal(request.Current.MachineSet), mustMarshal(request.Desired.MachineSet), inTemplate([]string{"spec", "version"}))
	if err == nil {
		response.MachineSetPatch = set
		response.InfrastructureMachineTemplatePatch, err = claim(request.Current.InfrastructureMachineTemplate.Raw, request.Desired.InfrastructureMachineTemplate.Raw, inTemplate(u.memory))
	}
	settle(response, err)
}

func (u *updater) updateMachine(_ context.Context, request *hooks.UpdateMachineRequest, response *hooks.UpdateMachineResponse) {
	machine := request.Desired.Machine
	key := machine.Namespace + "/" + machine.Name + string(mustMarshal(machine.Spec)) + string(specOf(request.Desired.InfrastructureMachine))
	u.lock.Lock()
	defer u.lock.Unlock()
	u.calls[key]++
	response.SetStatus(hooks.ResponseStatusSuccess)
	if call := u.calls[key]; call < callsPerUpdate {
		response.SetMessage(fmt.Sprintf("call %d of %d", call, callsPerUpdate))
		response.SetRetryAfterSeconds(1)
	}
}

// claim is the patch that makes one field of an object what it should be; none when it is so already.
func claim(current, desired []byte, path []string) (hooks.Patch, error) {
	if len(current) == 0 || len(desired) == 0 {
		return hooks.Patch{}, nil
	}
	is, err := lookUp(current, path)
	if err != nil {
		return hooks.Patch{}, err
	}
	shouldBe, err := lookUp(desired, path)
	if err != nil || is == nil || shouldBe == nil || string(is) == string(shouldBe) {
		return hooks.Patch{}, err
	}
	operation := map[string]any{"op": "replace", "path": "/" + strings.Join(path, "/"), "value": json.RawMessage(shouldBe)}
	document, err := json.Marshal([]any{operation})
	return hooks.Patch{PatchType: hooks.JSONPatchType, Patch: document}, err
}

// lookUp gives the field as it was sent, or nothing when the object has no such field.
func lookUp(document []byte, path []string) (json.RawMessage, error) {
	field := json.RawMessage(document)
	for _, key := range path {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(field, &object); err != nil {
			return nil, err
		}
		next, exists := object[key]
		if !exists {
			return nil, nil
		}
		field = next
	}
	return field, nil
}

func inTemplate(path []string) []string {
	return append([]string{"spec", "template"}, path...)
}

func specOf(object runtime.RawExtension) json.RawMessage {
	if len(object.Raw) == 0 {
		return nil
	}
	spec, _ := lookUp(object.Raw, []string{"spec"})
	return spec
}

func settle(response hooks.ResponseObject, err error) {
	if err != nil {
		response.SetStatus(hooks.ResponseStatusFailure)
		response.SetMessage(err.Error())
		return
	}
	response.SetStatus(hooks.ResponseStatusSuccess)
}

func mustMarshal(object any) []byte {
	document, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return document
}
