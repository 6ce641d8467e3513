"""Reads a series of VTK images with VTK and prints what they hold as JSON. Usage: vti.py SERIES.pvd"""
import json
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLImageDataReader

series = Path(sys.argv[1])
frames = []
for entry in tree.parse(series).getroot().iter("DataSet"):
    reader = vtkXMLImageDataReader()
    reader.SetFileName(str(series.parent / entry.get("file")))
    reader.Update()
    image = reader.GetOutput()
    cells = image.GetCellData()
    arrays = {}
    for n in range(cells.GetNumberOfArrays()):
        array = cells.GetArray(n)
        values = vtk_to_numpy(array).reshape(array.GetNumberOfTuples(), -1).astype("f8")
        place = int(abs(values[:, 0]).argmax())
        arrays[array.GetName()] = {
            "sums": list(values.sum(axis=0)), "place": place, "there": list(values[place]),
        }
    time = image.GetFieldData().GetArray("TimeValue")
    frames.append({
        "timestep": float(entry.get("timestep")),
        "time": time.GetValue(0),
        "cells": [n - 1 for n in image.GetDimensions()],
        "spacing": image.GetSpacing(),
        "vectors": cells.GetVectors().GetName(),
        "arrays": arrays,
    })
print(json.dumps(frames))
