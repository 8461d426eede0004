"""Runs the tests of one class; test_contract.c gives the tables of batond as input."""
import json
import sys
import unittest

from document_test import TABLES

if __name__ == "__main__":
    TABLES.update(json.load(sys.stdin))
    unittest.main(module=None, warnings="ignore")
