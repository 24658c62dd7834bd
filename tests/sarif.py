"""The parts of the SARIF 2.1.0 schema that what we write has to fit."""

from typing import Any

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
PLACE = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "message": TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"properties": {"uri": {"type": "string", "format": "uri"}}},
                "region": {
                    "required": ["startLine"],
                    "additionalProperties": False,
                    "properties": {
                        key: {"type": "integer", "minimum": 1}
                        for key in ("startLine", "startColumn", "endColumn")
                    },
                },
            },
        },
    },
    "additionalProperties": False,
}
FLOW_OF_CODE = {
    "type": "object",
    "required": ["threadFlows"],
    "properties": {
        "threadFlows": {
            "minItems": 1,
            "items": {
                "required": ["locations"],
                "properties": {
                    "locations": {"minItems": 1, "items": {"properties": {"location": PLACE}}}
                },
            },
        }
    },
}
RESULT = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "items": PLACE},
        "relatedLocations": {"type": "array", "items": PLACE},
        "codeFlows": {"type": "array", "items": FLOW_OF_CODE},
    },
}
DRIVER = {
    "required": ["name"],
    "properties": {
        "rules": {
            "uniqueItems": True,
            "items": {"required": ["id"], "properties": {"shortDescription": TEXT}},
        }
    },
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": DRIVER}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": RESULT},
                },
            }
        },
    },
}
"""What the SARIF 2.1.0 standard asks of what we write."""
