"""
Writes the schemas beside this file. Run it to move to another Kubernetes version:

  python3 -m venv /tmp/schemas && /tmp/schemas/bin/pip install kubernetes-validate==1.37.0 \\
    cloudcoil-models-keda==2.16.1.0 cloudcoil-models-prometheus-operator==0.80.1.0 compose-viz==0.3.5
  /tmp/schemas/bin/python deploy/helm/schemas/vendor.py

The schemas are of Kubernetes, KEDA, the Prometheus operator and the compose specification, all under the Apache License 2.0.

Each file is one kind with the definitions that it needs. Descriptions are left out, and an object takes no property that
its schema does not name, so a misspelt field is an error.
"""
import json
import pathlib
from importlib.resources import files

VERSION = 'v1.37.0-local-strict'
KINDS = ['configmap-v1', 'service-v1', 'serviceaccount-v1', 'deployment-apps-v1', 'job-batch-v1',
         'horizontalpodautoscaler-autoscaling-v2', 'poddisruptionbudget-policy-v1', 'networkpolicy-networking-v1',
         'ingress-networking-v1']
HERE = pathlib.Path(__file__).parent
ANNOTATIONS = ('$id', '$schema', 'description', 'title', 'default', 'examples')


def plain(schema, is_map=False):
    """The schema without annotations; `is_map` where the keys are names of properties or definitions."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: plain(value, key in ('properties', '$defs') and not is_map)
            for key, value in schema.items()
            if is_map or not (key in ANNOTATIONS or key.startswith('x-kubernetes')
                              # a flag of other dialects, which a schema may not have
                              or key == 'pattern' and '(?i)' in value)}
    if not is_map and 'properties' in kept and 'additionalProperties' not in kept:
        kept['additionalProperties'] = False
    return kept


def named(schema):
    """The definitions that a schema refers to."""
    if isinstance(schema, list):
        return {name for each in schema for name in named(each)}
    if not isinstance(schema, dict):
        return set()
    own = {schema['$ref'].split('/')[-1]} if isinstance(schema.get('$ref'), str) else set()
    return own | {name for each in schema.values() for name in named(each)}


def write(name, schema):
    text = json.dumps(schema, sort_keys=True, separators=(',', ':')).replace('/api/_definitions.json#', '#')
    (HERE / f'{name}.json').write_text(text + '\n')


def core():
    folder = files('kubernetes_validate') / 'kubernetes-json-schema' / VERSION
    everything = json.loads((folder / '_definitions.json').read_text())['$defs']
    for kind in KINDS:
        schema = json.loads((folder / f'{kind}.json').read_text())
        needed, found = set(), named(schema)
        while found - needed:
            name = (found - needed).pop()
            needed.add(name)
            found |= named(everything[name])
        write(kind, plain({**schema, '$defs': {name: everything[name] for name in sorted(needed)}}))


def custom():
    from cloudcoil.models.keda import v1alpha1 as keda
    from cloudcoil.models.prometheus_operator import v1 as prometheus
    for model, group in [(keda.ScaledObject, 'keda-v1alpha1'), (keda.TriggerAuthentication, 'keda-v1alpha1'),
                         (prometheus.ServiceMonitor, 'monitoring-v1'),
                         (prometheus.PrometheusRule, 'monitoring-v1')]:
        write(f'{model.__name__.lower()}-{group}', plain(model.model_json_schema(by_alias=True)))


def compose():
    from compose_viz.spec.compose_spec import ComposeSpecification
    write('compose-spec', plain(ComposeSpecification.model_json_schema(by_alias=True)))


core()
custom()
compose()
