"""The rules of `torchferry check`: one file a rule, in one folder a family.

`engine.check_document` is the entry. A rule is found by walking this package: add a file with one
subclass of `rule.Rule` to a family, and a fixture beside the others in tests/rules/fixtures.
"""
