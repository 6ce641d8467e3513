"""Renders a volume with Cycles, without a window.

Usage: blender -b --python docs/blender.py -- VOLUME.vdb PICTURE.png [WIDTH HEIGHT SAMPLES]
"""
import sys
from pathlib import Path

import bpy
from mathutils import Vector

volume, picture, *rest = sys.argv[sys.argv.index("--") + 1 :]
width, height, samples = [int(n) for n in rest] or (360, 480, 48)

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.volume_import(filepath=str(Path(volume).resolve()))
smoke = bpy.context.object
smoke.data.grids.load()
print("grids:", [grid.name for grid in smoke.data.grids])

# `density` is what the Principled Volume shader looks for.
material = bpy.data.materials.new("smoke")
material.use_nodes = True
nodes = material.node_tree.nodes
nodes.clear()
shader = nodes.new("ShaderNodeVolumePrincipled")
shader.inputs["Color"].default_value = (0.86, 0.82, 0.78, 1.0)
shader.inputs["Density"].default_value = 40.0
shader.inputs["Anisotropy"].default_value = 0.3
output = nodes.new("ShaderNodeOutputMaterial")
material.node_tree.links.new(shader.outputs["Volume"], output.inputs["Volume"])
smoke.data.materials.append(material)

bpy.context.view_layer.update()
corners = [smoke.matrix_world @ Vector(corner) for corner in smoke.bound_box]
low = Vector(min(c[a] for c in corners) for a in range(3))
high = Vector(max(c[a] for c in corners) for a in range(3))
middle, size = (low + high) / 2, high - low
print("from", tuple(low), "to", tuple(high), "m")

scene = bpy.context.scene
bpy.ops.mesh.primitive_plane_add(size=40.0 * max(size), location=(middle.x, middle.y, 0.0))
floor = bpy.data.materials.new("floor")
floor.use_nodes = True
floor.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.035, 0.04, 0.05, 1.0)
floor.node_tree.nodes["Principled BSDF"].inputs["Specular"].default_value = 0.0
floor.node_tree.nodes["Principled BSDF"].inputs["Roughness"].default_value = 1.0
bpy.context.object.data.materials.append(floor)

sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy = 5.0
sun.data.angle = 0.05
# From the left and above, a little from behind, so that the smoke shows its shape.
sun.rotation_euler = (-0.15, -0.8, 0.0)
scene.collection.objects.link(sun)
world = bpy.data.worlds.new("sky")
world.use_nodes = True
world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.1, 0.14, 0.22, 1.0)
world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.6
scene.world = world

eye = bpy.data.objects.new("eye", bpy.data.cameras.new("eye"))
eye.data.lens = 50.0
away = Vector((0.25, -1.0, 0.22)).normalized()
# Aimed at the middle of the smoke, from where its height fills most of an upright picture.
distance = 1.3 * max(size.z, size.x * height / width) * eye.data.lens / 36.0
eye.location = middle + away * distance
eye.rotation_euler = (middle - eye.location).to_track_quat("-Z", "Y").to_euler()
scene.collection.objects.link(eye)
scene.camera = eye

scene.render.engine = "CYCLES"
scene.cycles.device = "CPU"
scene.cycles.samples = samples
scene.cycles.use_denoising = False
scene.cycles.volume_bounces = 4
scene.view_settings.view_transform = "Filmic"
scene.render.resolution_x, scene.render.resolution_y = width, height
scene.render.filepath = str(Path(picture).resolve())
bpy.ops.render.render(write_still=True)
